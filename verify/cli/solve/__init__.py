"""`dpbounds solve`: arguments, and for each problem what is asked, solved, shown, saved, drawn and proved again."""

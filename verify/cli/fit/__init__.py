"""`dpbounds fit`: releases from private records."""

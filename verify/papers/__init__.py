"""The papers, a room each: `paper` by place, `beyond` what is ours, `tools` what several claims share."""

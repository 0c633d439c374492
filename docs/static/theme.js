// Light or dark, as chosen before; the theme's own script, in a file since pages run no inline script.
document.body.dataset.theme = localStorage.getItem("theme") || "auto";

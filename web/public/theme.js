// Before the first paint, so that a dark page never flashes white. A file, because the policy forbids inline script.
try {
  var theme = localStorage.getItem('parley.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch (e) {}

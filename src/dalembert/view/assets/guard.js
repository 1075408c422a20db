// First script of the page: collects everything that goes wrong, before anything can.
window.dalembert = { ready: false, errors: [] };
(() => {
  const note = (text) => window.dalembert.errors.push(String(text));
  window.addEventListener("error", (event) => note(event.message));
  window.addEventListener("unhandledrejection", (event) => note(event.reason));
  window.addEventListener("securitypolicyviolation", (event) => {
    note(`blocked by ${event.violatedDirective}: ${event.blockedURI}`);
  });
  const report = console.error.bind(console);
  console.error = (...words) => {
    note(words.join(" "));
    report(...words);
  };
})();

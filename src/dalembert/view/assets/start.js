// ---- Start: show the run that the page carries ----

publish(new Viewer(new Model(JSON.parse(find("#scene-data").textContent))));

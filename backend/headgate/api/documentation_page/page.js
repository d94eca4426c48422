"use strict";
const METHODS = ["get", "post", "put", "delete"];

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function resolved(root, value) {
  if (!value || !value.$ref) return value;
  return value.$ref.slice(2).split("/").reduce((found, part) => found?.[part], root);
}

function shape(root, schema, depth = 0) {
  const name = schema?.$ref?.split("/").pop();
  const found = resolved(root, schema) || {};
  if (name && depth > 2) return name;
  if (found.properties) {
    const fields = Object.entries(found.properties).map(
      ([key, inner]) =>
        "  ".repeat(depth + 1) + key + (found.required?.includes(key) ? "" : "?") + ": " +
        shape(root, inner, depth + 1));
    return `${name || ""} {\n${fields.join("\n")}\n${"  ".repeat(depth)}}`;
  }
  if (found.items) return shape(root, found.items, depth) + "[]";
  if (found.oneOf) return found.oneOf.map((one) => shape(root, one, depth)).join(" | ");
  if (found.enum) return found.enum.map((one) => JSON.stringify(one)).join(" | ");
  return [].concat(found.type || "any").join(" | ");
}

function parameters(root, operation) {
  const table = element("table");
  for (const reference of operation.parameters || []) {
    const parameter = resolved(root, reference);
    const row = table.appendChild(element("tr"));
    row.append(element("td", parameter.name), element("td", parameter.in, "quiet"),
      element("td", parameter.description || "", "quiet"));
  }
  return table;
}

function contents(root, box, title, content) {
  for (const [kind, media] of Object.entries(content || {})) {
    box.append(element("p", `${title} (${kind})`));
    box.append(element("pre", shape(root, media.schema)));
    const example = media.example ?? media.schema?.example;
    if (example !== undefined) {
      box.append(element("pre", JSON.stringify(example, null, 2)));
    }
  }
}

function operationBox(root, path, method, operation) {
  const box = element("details");
  box.id = operation.operationId;
  const summary = box.appendChild(element("summary"));
  summary.append(element("span", method.toUpperCase(), "method"), element("code", path),
    element("span", `  ${operation.summary || ""}`, "quiet"));
  box.addEventListener("toggle", () => fill(root, box, operation), { once: true });
  box.dataset.words =
    [path, method, operation.summary, operation.description, ...(operation.tags || [])]
      .join(" ").toLowerCase();
  return box;
}

function fill(root, box, operation) {
  if (operation.description) box.append(element("p", operation.description));
  box.append(parameters(root, operation));
  contents(root, box, "Body", operation.requestBody?.content);
  for (const [status, reference] of Object.entries(operation.responses || {})) {
    const response = resolved(root, reference);
    if (status < 300) contents(root, box, `${status}: ${response.description}`, response.content);
    else box.append(element("p", `${status}: ${response.description}`, "quiet"));
  }
}

function show(root) {
  document.getElementById("about").textContent =
    `${root.info.description} Version ${root.info.version}.`;
  const byTag = new Map();
  for (const [path, item] of Object.entries(root.paths)) {
    for (const method of METHODS.filter((one) => item[one])) {
      const tag = item[method].tags?.[0] || "Other";
      if (!byTag.has(tag)) byTag.set(tag, []);
      byTag.get(tag).push(operationBox(root, path, method, item[method]));
    }
  }
  const main = document.getElementById("operations");
  for (const [tag, boxes] of byTag) {
    const section = main.appendChild(element("section"));
    section.append(element("h2", tag), ...boxes);
  }
}

function find(event) {
  const words = event.target.value.toLowerCase();
  for (const box of document.querySelectorAll("details")) {
    box.hidden = !box.dataset.words.includes(words);
  }
}

document.getElementById("find").addEventListener("input", find);
fetch("/v1/openapi.json").then((answer) => answer.json()).then(show).catch((failure) => {
  document.getElementById("about").textContent = `The document cannot be read: ${failure}`;
});

// Runs in a report page and lists what a reader cannot read. The list replaces the page.
(() => {
  const found = [];
  const say = (element, what) => {
    const heading = element.closest("section")?.querySelector("h2")?.textContent ?? "page";
    const title = element.closest("svg.lm-plot")?.querySelector("title")?.textContent;
    found.push(`${heading}${title ? ` / ${title}` : ""}: ${what}`);
  };
  document.querySelectorAll("details").forEach((details) => (details.open = true));

  // Text and tables that do not fit. Raw files may be scrolled.
  for (const element of [document.documentElement, ...document.body.querySelectorAll("*")]) {
    if (element.closest("svg, pre") || getComputedStyle(element).display === "inline") continue;
    if (element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1) {
      say(element, `${element.tagName} ${element.className} is clipped: ${element.scrollWidth} > ${element.clientWidth}`);
    }
  }

  for (const plot of document.querySelectorAll("svg.lm-plot")) {
    const edge = plot.getBoundingClientRect();
    for (const text of plot.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      const inside = box.left >= edge.left - 1 && box.right <= edge.right + 1 && box.top >= edge.top - 1 && box.bottom <= edge.bottom + 1;
      if (!inside) say(plot, `"${text.textContent}" is outside the plot`);
      if (text.textContent.endsWith("…")) say(plot, `"${text.textContent}" is cut`);
      if (text.textContent === "no data") say(plot, "no data");
    }
    // Keys of the legend, then lines; those of one name, in several panels, may look alike.
    const entries = [...plot.querySelectorAll("g.lm-key")].map((key) => [key.parentElement, key.nextElementSibling.textContent, [...key.children]]);
    const lines = [...plot.querySelectorAll(":scope svg path.lm-line")].map((line) => [line.parentElement, line.querySelector("title").textContent, [line]]);
    const look = (part) => {
      const { fill, stroke, strokeWidth } = getComputedStyle(part);
      const shape = part.closest("svg svg") ? "" : (part.getAttribute("d") ?? "").replace(/^M[\d.-]+ [\d.-]+/, "");
      return [fill, stroke, strokeWidth, part.getAttribute("stroke-dasharray"), shape, part.classList.contains("lm-dots")].join();
    };
    for (const [kind, drawn] of [["entries", entries], ["lines", lines]]) {
      const names = new Map();
      for (const [panel, name, parts] of drawn) {
        const seen = names.get(panel) ?? names.set(panel, new Map()).get(panel);
        const appearance = parts.map(look).join(" + ");
        if (seen.has(appearance) && seen.get(appearance) !== name) {
          say(plot, `${kind} "${seen.get(appearance)}" and "${name}" look alike`);
        }
        seen.set(appearance, name);
      }
    }
  }
  const plots = document.querySelectorAll("svg.lm-plot").length;
  document.body.textContent = `AUDIT of ${plots} plots at ${innerWidth}\n${found.map((line) => `- ${line}\n`).join("")}END`;
})();

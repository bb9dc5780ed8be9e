// What a person would stumble over on this page, as lists that should be empty, and what it shows.
(() => {
  const all = selector => [...document.querySelectorAll(selector)];
  const box = element => element.getBoundingClientRect();
  const is_seen = element => box(element).width > 0 && box(element).height > 0;
  const named = element => `${element.tagName.toLowerCase()}.${element.className}: ${element.textContent.slice(0, 40)}`;
  const style = element => getComputedStyle(element);

  const numbers = colour => colour.match(/[\d.]+/g).map(Number);
  const luminance = colour => numbers(colour).slice(0, 3)
    .map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  const behind = element => {
    const colour = style(element).backgroundColor;
    return (numbers(colour)[3] ?? 1) > 0 ? colour : behind(element.parentElement);
  };
  // As WCAG has it: 21 for black on white; 4.5 is the least for text of this size.
  const contrast = element => {
    const [light, dark] = [style(element).color, behind(element)].map(luminance).sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };
  const texts = all("body *").filter(element => is_seen(element) && !element.closest("svg")
    && [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim()));

  const labels = all(".axis, .levels").map(axis => [...axis.children].filter(is_seen));
  const overlap = (one, two) => box(one).left < box(two).right && box(two).left < box(one).right
    && box(one).top < box(two).bottom && box(two).top < box(one).bottom;

  return {
    too_wide: all("body *").filter(element => box(element).right > innerWidth + 0.5 && !element.closest(".scroll, svg"))
      .map(named),
    // Several runs side by side may be scrolled; what is about one run fits a phone.
    cut_off: all("article .scroll").filter(element => element.scrollWidth > element.clientWidth + 1).map(named),
    scrolls_sideways: document.documentElement.scrollWidth > innerWidth,
    pale: texts.filter(element => contrast(element) < 4.5)
      .map(element => `${contrast(element).toFixed(2)} ${named(element)}`),
    tiny: texts.filter(element => parseFloat(style(element).fontSize) < 12).map(named),
    overlapping: labels.flatMap(of_one => of_one.flatMap((one, index) => of_one.slice(index + 1)
      .filter(two => overlap(one, two)).map(two => `${one.textContent} and ${two.textContent}`))),
    cards: all("article").map(article => [...article.querySelectorAll(".card")].filter(is_seen)
      .map(card => card.querySelector("h2")?.textContent ?? "figures")),
    beside: all("main > .card h2").filter(is_seen).map(title => title.textContent),
    buckets: all(".buckets").map(table => [...table.querySelectorAll("tr")].filter(is_seen)
      .map(row => [row.cells[0].textContent, row.querySelector("data").value])),
    // The widest place of a time line that shows no bucket.
    gaps: all("article .strip svg").map(strip => {
      const edges = [...strip.querySelectorAll("rect")].map(box);
      const ends = [box(strip).left, ...edges.map(edge => edge.right)];
      const begins = [...edges.map(edge => edge.left), box(strip).right];
      return Math.max(...begins.map((begin, index) => begin - ends[index]));
    }),
  };
})()

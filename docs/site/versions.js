// The chooser of versions in the header, as the theme draws one, and a line on pages of older ones. `quadrantVersions`
// is what scripts/site_versions.py writes beside the versions' folders; pages of a version without it have no chooser.
const addVersions = (versions, ours, site) => {
  const page = decodeURI(location.pathname).slice(decodeURI(site.pathname).length) || "index.html"
  const linked = ({ version, pages }) => {
    const link = document.createElement("a")
    link.className = "md-version__link"
    link.href = new URL(`../${version}/${pages.includes(page) ? page : "index.html"}`, site)
    link.textContent = version
    return link
  }
  const chooser = document.createElement("div"), current = document.createElement("button")
  const list = document.createElement("ul")
  chooser.className = "md-version"
  current.className = "md-version__current"
  current.setAttribute("aria-label", "Version")
  current.textContent = ours
  list.className = "md-version__list"
  for (const version of versions) {
    const item = document.createElement("li")
    item.className = "md-version__item"
    item.append(linked(version))
    list.append(item)
  }
  chooser.append(current, list)
  document.querySelector(".md-header__topic").append(chooser)

  if (versions[0].version === ours) return
  const note = document.createElement("p")
  note.className = "admonition warning older-version"
  note.append(`This is version ${ours}. The newest is `, linked(versions[0]), ".")
  note.lastElementChild.className = ""
  document.querySelector("article").prepend(note)
}

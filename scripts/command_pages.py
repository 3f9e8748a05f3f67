#!/usr/bin/env python3
"""Writes man pages and shell completion of the command, of its own table of options.

    scripts/command_pages.py QUADRANT FOLDER

FOLDER becomes a `share/`: man/man1, bash-completion/completions, zsh/site-functions, fish/vendor_completions.d.
"""

import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import time

FILES = {"FILE", "PATH", "NAME|FILE", "DIR", "FOLDER"}


def words_of(option):
    """What its value can be, as far as that is known."""
    is_list = re.fullmatch(r"[a-z0-9-]+(\|[a-z0-9-]+)+", option["type"])
    return [word.replace("_", "-") for word in option["words"]] or (option["type"].split("|") if is_list else [])


def takes_file(option):
    return option["is_positional"] and not words_of(option) or option["type"] in FILES


def spellings(option):
    return [f"-{name}" for name in option["short"]] + [f"--{name}" for name in option["long"]]


def named(command):
    return [option for option in command["options"] if not option["is_positional"]]


def positional(command):
    return [option for option in command["options"] if option["is_positional"]]


def first_line(text):
    return text.partition("\n")[0]


# --- man ---


def roff(text):
    for sign, name in (("\\", "e"), ("-", "-"), ("'", "(aq"), ("`", "(ga"), ("^", "(ha"), ("~", "(ti")):
        text = text.replace(sign, f"\\{name}")
    return re.sub(r"^\.", r"\\&.", text, flags=re.MULTILINE)


def man_options(options):
    lines = []
    for option in options:
        value = f" \\fI{roff(option['type'])}\\fR" if option["type"] else ""
        name = f"\\fI{option['name']}\\fR" if option["is_positional"] else ", ".join(
            f"\\fB{roff(spelling)}\\fR" for spelling in spellings(option))
        about = option["description"]
        if option["default"]:
            about += f" (default: {option['default']})"
        if option["is_required"]:
            about += " (required)"
        lines += [".TP", name + ("" if option["is_positional"] else value), roff(about)]
    return lines


def man_text(text):
    """Paragraphs; indented lines as they are."""
    lines, is_plain = [], False
    for line in text.splitlines():
        wants_plain = line.startswith(" ")
        if wants_plain != is_plain:
            lines.append(".EX" if wants_plain else ".EE")
            is_plain = wants_plain
        if line.strip():
            lines.append(roff(line))
        elif lines and lines[-1] not in (".PP", ".EE", ".EX"):
            lines.append(".PP")
    if is_plain:
        lines.append(".EE")
    while lines and lines[-1] == ".PP":
        lines.pop()
    return lines


def man_page(table, command=None):
    of = command or table
    title = f"quadrant-{command['name']}" if command else "quadrant"
    made = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())), datetime.timezone.utc)
    lines = [f'.TH "{title.upper()}" "1" "{made:%Y-%m-%d}" "quadrant {table["version"]}" "User Commands"', ".SH NAME",
             f"{roff(title)} \\- {roff(first_line(of['description']).rstrip('.'))}", ".SH SYNOPSIS"]
    if command:
        operands = " ".join(f"\\fI{option['name']}\\fR" if option["is_required"] else f"[\\fI{option['name']}\\fR]"
                            for option in positional(command))
        lines.append(f"\\fBquadrant {command['name']}\\fR [\\fIOPTIONS\\fR] {operands}".rstrip())
        if positional(command):
            lines += [".SH ARGUMENTS", *man_options(positional(command))]
    else:
        lines += ["\\fBquadrant\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]", ".SH COMMANDS"]
        for each in table["commands"]:
            lines += [".TP", f"\\fBquadrant\\-{each['name']}\\fR(1)", roff(first_line(each["description"]))]
    lines += [".SH OPTIONS", *man_options(named(of))]
    if of["footer"].strip():
        lines += [".SH NOTES", *man_text(of["footer"])]
    others = ["quadrant"] if command else [f"quadrant-{each['name']}" for each in table["commands"]]
    lines += [".SH SEE ALSO", ", ".join(f"\\fB{roff(name)}\\fR(1)" for name in others)]
    return "\n".join(lines) + "\n"


# --- shells ---

HEADER = "# Completion of the command quadrant, made of its table of options by scripts/command_pages.py.\n"


def bash(table):
    lines = [HEADER + "_quadrant() {",
             "  local word opener='' command='' options='' values='' current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}",
             "  if [[ $current == = ]]; then current=''",
             "  elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi",
             '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
             "    [[ $word != = ]] || continue",
             "    if [[ $opener == --plugin ]]; then opener=''  # its value",
             "    elif [[ $word == -* ]]; then opener=$word",
             "    else command=$word; break; fi",
             "  done",
             "  COMPREPLY=()",
             "  case $command in"]
    for command in table["commands"]:
        options = " ".join(spelling for option in named(command) for spelling in spellings(option))
        lines += [f"    {command['name']})", f"      options='{options}'", "      case $before in"]
        for option in named(command):
            if option["takes_value"]:
                # Without words, and for files, bash's own completion of files follows.
                words = " ".join(words_of(option)) if words_of(option) else ("" if takes_file(option) else "#")
                lines.append(f"        {'|'.join(spellings(option))}) values='{words}' options='' ;;")
        words = " ".join(word for option in positional(command) for word in words_of(option))
        lines += [f"        *) values='{words}' ;;" if words else "        *) ;;", "      esac ;;"]
    commands = " ".join(command["name"] for command in table["commands"])
    own = " ".join(spelling for option in named(table) for spelling in spellings(option))
    lines += [f"    '') values='{commands}' options='{own}' ;;", "  esac",
              "  [[ $values != '#' ]] || { compopt +o default 2>/dev/null; return; }",
              "  [[ $current != -* ]] || values=$options",
              '  [[ -z $values ]] || mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")', "}",
              "complete -o default -F _quadrant quadrant"]
    return "\n".join(lines) + "\n"


def zsh_text(text):
    return re.sub(r"([\\\[\]:])", r"\\\1", text).replace("'", "'\\''")


def zsh(table):
    def action(option):
        if words_of(option):
            return f"({' '.join(words_of(option))})"
        return "_files" if takes_file(option) else " "

    lines = ["#compdef quadrant", HEADER + "_quadrant() {", "  local -a commands=("]
    lines += [f"    '{command['name']}:{zsh_text(first_line(command['description']))}'" for command in table["commands"]]
    lines += ["  )", "  while ((CURRENT > 2)) && [[ $words[2] == --plugin* ]]; do  # in front of the command",
              "    [[ $words[2] == *=* ]] || { shift words; ((CURRENT--)); }",
              "    shift words; ((CURRENT--))",
              "  done", "  if ((CURRENT == 2)); then",
              "    _describe command commands", "    return", "  fi",
              "  shift words", "  ((CURRENT--))", "  case $words[1] in"]
    for command in table["commands"]:
        lines.append(f"    {command['name']}) _arguments \\")
        for option in command["options"]:
            about = zsh_text(first_line(option["description"]))
            value = f":{zsh_text(option['type'] or option['name'])}:{action(option)}"
            if option["is_positional"]:
                lines.append(f"      '{':' if option['is_required'] else '::'}{option['name']}:{action(option)}' \\")
                continue
            for spelling in spellings(option):
                lines.append(f"      '*{spelling}[{about}]{value if option['takes_value'] else ''}' \\")
        lines[-1] = lines[-1].removesuffix(" \\") + " ;;"
    lines += ["  esac", "}", 'if [ "$funcstack[1]" = _quadrant ]; then _quadrant "$@"; else compdef _quadrant quadrant; fi']
    return "\n".join(lines) + "\n"


def fish(table):
    def quoted(text):
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    lines = [HEADER.rstrip()]
    for command in table["commands"]:
        lines.append(f"complete -c quadrant -f -n __fish_use_subcommand -a {command['name']} "
                     f"-d {quoted(first_line(command['description']))}")
        seen = f"-n '__fish_seen_subcommand_from {command['name']}'"
        for option in named(command):
            names = " ".join([f"-s {name}" for name in option["short"]] + [f"-l {name}" for name in option["long"]])
            value = " -r -F" if takes_file(option) else (" -x" if option["takes_value"] else "")
            if words_of(option):
                value = f" -x -a {quoted(' '.join(words_of(option)))}"
            lines.append(f"complete -c quadrant {seen} {names}{value} -d {quoted(first_line(option['description']))}")
        words = " ".join(word for option in positional(command) for word in words_of(option))
        lines.append(f"complete -c quadrant {seen} {'-f -a ' + quoted(words) if words else '-F'}")
    return "\n".join(lines) + "\n"


def pages(table):
    made = {"man/man1/quadrant.1": man_page(table), "bash-completion/completions/quadrant": bash(table),
            "zsh/site-functions/_quadrant": zsh(table), "fish/vendor_completions.d/quadrant.fish": fish(table)}
    for command in table["commands"]:
        made[f"man/man1/quadrant-{command['name']}.1"] = man_page(table, command)
    return made


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    table = json.loads(subprocess.run([sys.argv[1], "options"], check=True, capture_output=True, text=True).stdout)
    for name, text in pages(table).items():
        path = pathlib.Path(sys.argv[2]) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

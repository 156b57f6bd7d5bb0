/** Shells that a script can be had for. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

export type Shell = (typeof SHELLS)[number];

/** The line that has the shell look for files, too. */
export const PATHS = ":paths";

/** The script with which a shell asks the program what can stand at the end of a line. */
export function completionScript(shell: Shell, program: string): string {
  return SCRIPTS[shell].replaceAll("PROGRAM", program).replaceAll("FUNCTION", `_${program.replaceAll("-", "_")}`);
}

const SCRIPTS: Readonly<Record<Shell, string>> = {
  // Bash takes : and = for the ends of words: what stands before them is there already.
  bash: `# eval "$(PROGRAM completion bash)"
FUNCTION() {
  local line=\${COMP_LINE:0:COMP_POINT} value
  local last=\${line##*[[:space:]]}
  local there=\${last%"\${last##*[=:]}"}
  COMPREPLY=()
  while IFS=$'\\t' read -r value _; do
    if [[ $value == ${PATHS} ]]; then
      compopt -o default
    else
      COMPREPLY+=("\${value#"$there"}")
      [[ $value == *= ]] && compopt -o nospace
    fi
  done < <("$1" complete -- "$line" 2>/dev/null)
}
complete -F FUNCTION PROGRAM`,
  zsh: `#compdef PROGRAM
# eval "$(PROGRAM completion zsh)", or this as FUNCTION in a folder of $fpath
FUNCTION() {
  local line value about paths
  local -a values
  while IFS=$'\\t' read -r value about; do
    if [[ $value == ${PATHS} ]]; then
      paths=1
    else
      values+=("\${value//:/\\\\:}:$about")
    fi
  done < <("$words[1]" complete -- "\${(j: :)words[1,CURRENT]}" 2>/dev/null)
  (( $#values )) && _describe PROGRAM values
  [[ -n $paths ]] && _files
  return 0
}
if [[ $funcstack[1] == FUNCTION ]]; then
  FUNCTION "$@"
else
  compdef FUNCTION PROGRAM
fi`,
  fish: `# PROGRAM completion fish | source
function _FUNCTION
  set -l found (PROGRAM complete -- (commandline -cp | string collect) 2>/dev/null)
  string match -v -- '${PATHS}' $found
  contains -- '${PATHS}' $found; and __fish_complete_path (commandline -ct)
end
complete -c PROGRAM -f -a '(_FUNCTION)'`,
};

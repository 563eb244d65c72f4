import { Argument, type Command } from 'commander';
import { print } from '../command.js';

/** Scripts of the shells. Each asks the program for the words that may follow. */
const SCRIPTS = {
  bash: `_gwk() {
  local IFS=$'\\n'
  COMPREPLY=($(gwk __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _gwk gwk`,
  zsh: `#compdef gwk
_gwk() {
  local -a found
  found=("\${(@f)$(gwk __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -a found
}
compdef _gwk gwk`,
  fish: `complete -c gwk -f -a '(gwk __complete (commandline -opc)[2..-1] (commandline -ct | string collect --allow-empty) 2>/dev/null)'`,
};

export function registerCompletion(program: Command): void {
  program
    .command('completion')
    .description('print the completion of a shell; bash: source <(gwk completion bash)')
    .addArgument(new Argument('<shell>').choices(Object.keys(SCRIPTS)))
    .action((shell: keyof typeof SCRIPTS) => print(SCRIPTS[shell]));
  program
    .command('__complete [words...]', { hidden: true })
    .helpOption(false)
    .allowUnknownOption()
    .action((words: string[]) => {
      const found = listCompletions(program, words);
      if (found.length > 0) print(found.join('\n'));
    });
}

/** Words that may stand in place of the last one. */
export function listCompletions(program: Command, words: readonly string[]): string[] {
  let command = program;
  for (const word of words.slice(0, -1))
    command = command.commands.find((inner) => inner.name() === word) ?? command;
  const last = words.at(-1) ?? '';
  const help = command.createHelp();
  const names = help.visibleCommands(command).map((inner) => inner.name());
  const options = help.visibleOptions(command).map(({ long }) => long ?? '');
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  return (last.startsWith('-') ? options : [...names, ...choices]).filter((name) => name.startsWith(last));
}

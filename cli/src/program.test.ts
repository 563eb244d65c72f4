import { readFileSync } from 'node:fs';
import { listCompletions } from './commands/completion.js';
import { createProgram } from './program.js';

test('completes commands, options and choices', () => {
  const program = createProgram('gwk');
  expect(listCompletions(program, ['inst'])).toEqual(['instances']);
  expect(listCompletions(program, ['instances', 'de'])).toEqual(['delete']);
  expect(listCompletions(program, ['send', '--fr'])).toEqual(['--from']);
  expect(listCompletions(program, ['completion', ''])).toEqual(
    expect.arrayContaining(['bash', 'zsh', 'fish']),
  );
  expect(listCompletions(program, ['acc'])).toEqual([]);
});

test('names every command of the server in place of it', () => {
  const page = readFileSync(new URL('../../docs/server-cli.md', import.meta.url), 'utf8');
  const [, list] = /\nCommands:\n([^]*?)```/.exec(page)!;
  const names = [...list!.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name]) => name!);
  const known = createProgram('gwk').commands.map((command) => command.name());
  expect(names.filter((name) => !known.includes(name) && name !== 'help')).toEqual([]);
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BLOCKS, findBlocks, WALK, type AdministratorPage } from '../support/docs/blocks.js';
import {
  listFlags,
  readFlags,
  readHelp,
  recordCommands,
  type TypedCommand,
} from '../support/docs/commands.js';
import { findHelm } from '../support/chart/helm-binary.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { findBinaries } from '../support/kubernetes/binaries.js';
import { ROOT } from '../support/program.js';
import { readPageBlocks } from '../support/readme.js';

const PAGES = Object.keys(BLOCKS) as AdministratorPage[];

const PROGRAMS = [
  ...['kubectl', 'helm', 'gwk', 'node', 'make', 'kind', 'ctr', 'docker'],
  ...['psql', 'pg_dump', 'pg_restore', 'createdb', 'jq', 'find'],
];

/** Words that name a command of kubectl, where one is not enough. */
const DEPTHS: Record<string, number> = { create: 3, rollout: 2 };

const listCommands = (): TypedCommand[] =>
  PAGES.flatMap((page) => readPageBlocks(page, 'sh').flatMap((block) => recordCommands(block, PROGRAMS)));

describe.each(PAGES)('the shell blocks of docs/%s', (page) => {
  const rows = BLOCKS[page];

  test('are all typed by a test', () => {
    const found = rows.flatMap(([text]) => findBlocks(page, text));
    expect(readPageBlocks(page, 'sh').filter((block) => !found.includes(block))).toEqual([]);
  });

  test.each(rows)('%s: %s', (text, typed) => {
    expect(findBlocks(page, text)).toHaveLength(1);
    const test = readFileSync(join(ROOT, typed), 'utf8');
    expect(test).toContain(page);
    if (typed.startsWith(WALK)) expect(test).toContain(`type('${page}', '${text}'`);
  });

  test('are commands that a shell understands', () => {
    for (const block of readPageBlocks(page, 'sh')) expect(recordCommands(block, PROGRAMS)).not.toEqual([]);
  });
});

describeOnKubernetes(
  'the documented flags',
  () => {
    const commands = listCommands();
    /** The words before the first flag or argument that is not a command. */
    const listWords = ([, ...words]: TypedCommand) => words.filter((word) => !word.startsWith('-'));
    const findUnknown = (command: TypedCommand, known: Set<string>) =>
      listFlags(command.slice(1)).filter((flag) => !known.has(flag));

    test('of kubectl exist', () => {
      const found = findBinaries();
      const kubectl = 'binaries' in found ? join(found.binaries.folder, 'kubectl') : 'kubectl';
      const shared = readFlags(readHelp(kubectl, ['options']));
      const unknown = commands
        .filter(([program]) => program === 'kubectl')
        .flatMap((command) => {
          const words = listWords(command).filter((word) => word !== 'messages' && word !== 'default');
          const path = words.slice(0, DEPTHS[words[0]!] ?? 1);
          const known = new Set([...shared, ...readFlags(readHelp(kubectl, [...path, '--help']))]);
          return findUnknown(command, known).map((flag) => `${command.join(' ')}: ${flag}`);
        });
      expect(unknown).toEqual([]);
    });

    test.each([3, 4] as const)('of helm exist in Helm %i', (major) => {
      const found = findHelm(major);
      if ('missing' in found) throw new Error(found.missing);
      const unknown = commands
        .filter(([program]) => program === 'helm')
        .flatMap((command) => {
          const known = readFlags(readHelp(found.helm, [command[1]!, '--help']));
          return findUnknown(command, known).map((flag) => `${command.join(' ')}: ${flag}`);
        });
      expect(unknown).toEqual([]);
    });

    test('of gwk exist', () => {
      const unknown = commands
        .map((command): TypedCommand => {
          const at = command.indexOf('--') + 1;
          return command[at] === 'gwk' ? ['gwk', ...command.slice(at + 1)] : command;
        })
        .map((command): TypedCommand => (command[0] === 'node' ? ['gwk', ...command.slice(2)] : command))
        .filter(([program]) => program === 'gwk')
        .flatMap((command) => {
          const [first, second] = listWords(command);
          const group = ['account', 'key', 'policy'].includes(first!) ? [first!, second!] : [first!];
          const known = readFlags(readHelp(process.execPath, ['bin/gwk.js', ...group, '--help']));
          return findUnknown(command, known).map((flag) => `${command.join(' ')}: ${flag}`);
        });
      expect(unknown).toEqual([]);
    });
  },
  { chart: true, helm3: true },
);

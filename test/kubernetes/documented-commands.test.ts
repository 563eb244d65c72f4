import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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

/** The control plane of this tier stores pods and never runs them. */
const NODES = 'it needs pods that run; the tests below check its commands and flags';
const POSTGRES = 'test/processes/dump.test.ts';
const STORED = 'test/kubernetes/resource-versions.test.ts';
const RELEASE = 'test/kubernetes/release-instances.test.ts';

/** Where each shell block of a page is typed, by a text of the block; or, in words, why no test can type it. */
const BLOCKS: Record<string, [text: string, typed: string][]> = {
  'install.md': [
    [
      'kind load',
      'it needs Docker and kind; make e2e builds the same images and imports them into its nodes',
    ],
    ['images import', 'it needs the containerd of a node; make e2e imports its images by this command'],
    ['demo.enabled=true', NODES],
    ['create secret generic databases', NODES],
    ['--values values.yaml', 'its values name the servers of the reader; test/chart applies such values'],
    ['service-name=kubernetes', NODES],
    ['get secret gwk', NODES],
  ],
  'kubernetes.md': [
    ['account create main', NODES],
    ['apply -f shop.yaml', NODES],
    ['condition=Ready gwi/shop', NODES],
    ['--field-selector', NODES],
    ['gwk.js pair', 'it waits for a phone; test/e2e/steps.ts pairs a simulated one by the same command'],
    ['condition=UpToDate', NODES],
  ],
  'upgrade.md': [
    ['^helm upgrade gwk', NODES],
    ['logs --prefix', NODES],
    ['delete job -l app.kubernetes.io/component=migrations', NODES],
    ['get gwi -A -o wide', NODES],
    ['> instances.yaml', NODES],
    ['"storedVersions":["v1alpha1"]', STORED],
    ['.status.storedVersions}', NODES],
    ['"storedVersions":["v1"]', STORED],
    ['delete secret gwk-internal-tls', NODES],
  ],
  'operate.md': [
    ['pg_dump ', POSTGRES],
    ['audit --since', NODES],
    ['"msg":"audit"', NODES],
    ['managed-by=gwk-operator,app.kubernetes.io/component=engine', NODES],
    ['pg_restore ', POSTGRES],
    ['BEFORE_URL', 'test/processes/dump-closed.test.ts'],
    ['after-restore', NODES],
    ['account suspend', NODES],
    ['--set api.replicas=1', NODES],
    ['--replicas=2', NODES],
    ['instances.json | kubectl apply', NODES],
    ['store_removals', POSTGRES],
    ['account limits acme', NODES],
    ['--subject ins_...', NODES],
  ],
  'uninstall.md': [
    ['delete gwi --all', NODES],
    ['delete pods -l', NODES],
    ['psql "$DATABASE_URL"', RELEASE],
    ['patch gwi shop', RELEASE],
  ],
};

const PROGRAMS = [
  ...['kubectl', 'helm', 'gwk', 'node', 'make', 'kind', 'ctr', 'docker'],
  ...['psql', 'pg_dump', 'pg_restore', 'createdb', 'jq', 'find'],
];

const isBlock = (block: string, text: string): boolean =>
  text.startsWith('^') ? block.startsWith(text.slice(1)) : block.includes(text);

/** Words that name a command of kubectl, where one is not enough. */
const DEPTHS: Record<string, number> = { create: 3, rollout: 2 };

const listCommands = (): TypedCommand[] =>
  Object.keys(BLOCKS).flatMap((page) =>
    readPageBlocks(page, 'sh').flatMap((block) => recordCommands(block, PROGRAMS)),
  );

describe.each(Object.entries(BLOCKS))('the shell blocks of docs/%s', (page, rows) => {
  test('are all typed by a test, or have a reason', () => {
    const unlisted = readPageBlocks(page, 'sh').filter(
      (block) => rows.filter(([text]) => isBlock(block, text)).length === 0,
    );
    expect(unlisted).toEqual([]);
  });

  test.each(rows)('%s: %s', (text, typed) => {
    expect(readPageBlocks(page, 'sh').filter((block) => isBlock(block, text))).toHaveLength(1);
    if (!typed.endsWith('.ts')) return;
    expect(existsSync(join(ROOT, typed))).toBe(true);
    expect(readFileSync(join(ROOT, typed), 'utf8')).toContain(page);
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

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../support/program.js';

/** Tags of actions and images can move. Commits and digests cannot. */
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Actions of a workflow without a commit and a comment with its version. Renovate reads the comment. */
const findMovableActions = (workflow: string): string[] =>
  [...workflow.matchAll(/^[\s-]*(?:'uses'|"uses"|uses) *: *(.*)$/gm)]
    .map(([, action]) => action!.trim())
    .filter((action) => !/^(\.\/\S+|[\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+){2})$/.test(action));

/** Images of a Dockerfile without a digest. A stage or an argument as the base has none itself. */
const findMovableImages = (dockerfile: string): string[] => {
  const stages = [...dockerfile.matchAll(/^FROM .* AS (\S+)$/gim)].map(([, stage]) => stage!);
  return [...dockerfile.matchAll(/^(?:ARG \w+_IMAGE=|FROM (?:--\S+ )*)(\S*)/gim)]
    .map(([, image]) => image!)
    .filter((image) => !image.startsWith('${') && !stages.includes(image))
    .filter((image) => !/@sha256:[0-9a-f]{64}$/.test(image));
};

const WORKFLOWS = '.github/workflows';
test.each(readdirSync(join(ROOT, WORKFLOWS)))('%s names each action by its commit', (name) => {
  const workflow = read(`${WORKFLOWS}/${name}`);
  const { jobs } = parse(workflow) as { jobs: Record<string, { steps: { uses?: string }[] }> };
  const used = Object.values(jobs).flatMap(({ steps }) => steps.filter(({ uses }) => uses !== undefined));
  expect(workflow.match(/uses/g) ?? []).toHaveLength(used.length);
  expect(findMovableActions(workflow)).toEqual([]);
});

test('each command of the release, the site and the security checks is a make target', () => {
  for (const name of ['release', 'security', 'site']) {
    const { jobs } = parse(read(`${WORKFLOWS}/${name}.yml`)) as {
      jobs: Record<string, { steps: { run?: string }[] }>;
    };
    const commands = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) expect(command).toMatch(/^make [a-z-]+( [A-Z]+=\S+)*$/);
  }
});

test.each(['Dockerfile', '.devcontainer/Dockerfile'])('%s names each base image by its digest', (path) => {
  expect(findMovableImages(read(path))).toEqual([]);
});

const COMMIT = '0'.repeat(40);
test.each([
  ['a tag', 'actions/checkout@v5', true],
  ['a branch with a comment', 'actions/checkout@main # v5.1.0', true],
  ['a commit without its version', `actions/checkout@${COMMIT}`, true],
  ['an image', 'docker://alpine:3', true],
  ['a commit with its version', `actions/cache/restore@${COMMIT} # v4.3.0`, false],
  ['an action of this repository', './.github/actions/install', false],
])('an action by %s', (_, action, isMovable) => {
  expect(findMovableActions(`steps:\n  - uses: ${action}\n`)).toEqual(isMovable ? [action] : []);
});

test.each([
  ['a tag', 'FROM node:24', ['node:24']],
  ['an argument with a tag', 'ARG A_IMAGE=node:24\nFROM ${A_IMAGE} AS a\nFROM a', ['node:24']],
  ['a platform and a tag', 'FROM --platform=linux/amd64 node:24', ['node:24']],
  ['a short digest', 'FROM node@sha256:abc', ['node@sha256:abc']],
  ['a digest', `FROM node:24@sha256:${'a'.repeat(64)} AS a\nFROM a AS b`, []],
])('an image by %s', (_, dockerfile, movable) => {
  expect(findMovableImages(dockerfile)).toEqual(movable);
});

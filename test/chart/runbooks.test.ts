import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { find, MINIMAL_VALUES, render } from '../support/chart/render.js';
import { describeChart } from './suite.js';
import type { KubeObject } from '../support/kubernetes/test-cluster.js';
import { ROOT } from '../support/program.js';

const RUNBOOKS = join(ROOT, 'docs/runbooks');

interface Granted {
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
  verbs: string[];
}
interface Question {
  verb: string;
  resource: string;
  group: string;
  name: string | undefined;
  account: string;
}

/** Every `kubectl auth can-i ... --as=system:serviceaccount:<namespace>:...` in the runbooks. */
const questions = readdirSync(RUNBOOKS).flatMap((file) => {
  const page = readFileSync(join(RUNBOOKS, file), 'utf8');
  const commands = page.matchAll(
    /kubectl auth can-i (\w+) ([a-z]+)\.([a-z0-9.]+)(?:\/(\S+))? -n <namespace> --as=system:serviceaccount:<namespace>:([a-z-]+)/g,
  );
  return [...commands].map(([, verb, resource, group, name, account]): [string, Question] => [
    file,
    { verb: verb!, resource: resource!, group: group!, name, account: account! },
  ]);
});

/** Evaluates Roles like Kubernetes: a rule with resourceNames grants nothing without a name. */
function isGranted(objects: KubeObject[], { verb, resource, group, name, account }: Question): boolean {
  const roles = objects
    .filter(({ kind }) => kind === 'RoleBinding')
    .filter((binding) => (binding['subjects'] as { name: string }[]).some((one) => one.name === account))
    .map((binding) => find(objects, 'Role', (binding['roleRef'] as { name: string }).name));
  return roles
    .flatMap((role) => role['rules'] as Granted[])
    .some(
      ({ apiGroups, resources, resourceNames, verbs }) =>
        apiGroups.includes(group) &&
        resources.includes(resource) &&
        verbs.includes(verb) &&
        (resourceNames === undefined || (name !== undefined && resourceNames.includes(name))),
    );
}

describeChart('kubectl auth can-i in the runbooks', () => {
  test('is in GwkOperatorWithoutLeader', () => {
    expect(questions.map(([file]) => file)).toContain('GwkOperatorWithoutLeader.md');
  });

  test.each(questions)('%s: a default installation answers yes (%j)', (_, question) => {
    expect(isGranted(render(MINIMAL_VALUES), question)).toBe(true);
  });

  test('answers no without the right', () => {
    const [, question] = questions[0]!;
    expect(isGranted(render(MINIMAL_VALUES), { ...question, verb: 'delete' })).toBe(false);
    expect(isGranted(render(MINIMAL_VALUES), { ...question, name: undefined })).toBe(false);
  });
});

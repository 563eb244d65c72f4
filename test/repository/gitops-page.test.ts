import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { evaluate } from '@marcbachmann/cel-js';
import { decide } from '@gwk/operator/controller/decide';
import { NO_HISTORY } from '@gwk/operator/controller/history';
import type { Observed } from '@gwk/operator/controller/observed';
import { buildStatus } from '@gwk/operator/controller/status';
import { parse } from 'yaml';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import { accepted, at, endedPod, free, NOW, observed, resource } from '../support/operator/build.js';
import { ROOT } from '../support/program.js';

/** Runs the health checks of docs/gitops.md on statuses that the operator writes. */
const PAGE = readFileSync(join(ROOT, 'docs/gitops.md'), 'utf8');
const [ARGO, FLUX] = [...PAGE.matchAll(/^```yaml\n([^]*?)^```$/gm)].map(
  ([, text]) => parse(text!) as unknown,
);
const LUA = (ARGO as { data: Record<string, string> }).data[
  'resource.customizations.health.gwk.dev_Instance'
]!;
const [EXPRESSIONS] = (FLUX as { spec: { healthCheckExprs: { failed: string; current: string }[] } }).spec
  .healthCheckExprs;

/** A Lua state of fengari, which has no types. */
type State = object;
interface Fengari {
  lauxlib: {
    luaL_newstate(): State;
    luaL_dostring(state: State, script: Uint8Array): number;
  };
  lualib: { luaL_openlibs(state: State): void };
  lua: { lua_tostring(state: State, index: number): Uint8Array };
  to_luastring: (text: string) => Uint8Array;
  to_jsstring: (text: Uint8Array) => string;
}
const fengari = createRequire(import.meta.url)('fengari') as Fengari;

interface Health {
  status: string;
  message: string;
}

/** A value as a Lua expression. */
function toLua(value: unknown): string {
  if (value === null || value === undefined) return 'nil';
  if (Array.isArray(value)) return `{${value.map(toLua).join(', ')}}`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, field]) => `[${JSON.stringify(name)}] = ${toLua(field)}`);
  return `{${fields.join(', ')}}`;
}

function runLua(object: object): Health {
  const { lauxlib, lua, lualib, to_luastring, to_jsstring } = fengari;
  const state = lauxlib.luaL_newstate();
  lualib.luaL_openlibs(state);
  const script = `local obj = ${toLua(object)}\nlocal function check()\n${LUA}\nend\nlocal h = check()\nreturn h.status, h.message`;
  const failed = lauxlib.luaL_dostring(state, to_luastring(script));
  const read = (index: number) => to_jsstring(lua.lua_tostring(state, index));
  if (failed) throw new Error(read(-1));
  return { status: read(-2), message: read(-1) };
}

/** Evaluates in the order of Flux (RFC 0009). */
function runCel(object: InstanceResource): string {
  const { status, metadata } = object;
  if (status && status.observedGeneration !== metadata.generation) return 'in progress';
  const holds = (expression: string) => evaluate(expression, { ...object }) === true;
  try {
    if (holds(EXPRESSIONS!.failed)) return 'failed';
    return holds(EXPRESSIONS!.current) ? 'current' : 'in progress';
  } catch {
    return 'unknown';
  }
}

/** The resource with the status that the operator writes. */
function withStatus(special: Partial<Observed> = {}): InstanceResource {
  const all = observed(special);
  return { ...all.resource!, status: buildStatus(all, decide(all)) };
}

const unpaired = { state: 'pending_pair', first_paired_at: null } as const;
const absent = { phase: 'absent' } as const;
const crashing = { ...NO_HISTORY, failures: 4, lastError: 'exit code 78', nextStartAt: NOW + 4_000 };

type Case = [sentence: string, object: InstanceResource, argo: string, flux: string];
const CASES: Case[] = [
  ['without a status', resource(), 'Progressing', 'unknown'],
  [
    'with a status for an older generation',
    { ...withStatus(), metadata: { ...resource().metadata, generation: 2 } },
    'Progressing',
    'in progress',
  ],
  [
    'that the API has not answered',
    withStatus({ projection: { kind: 'unknown', error: null }, pod: absent }),
    'Progressing',
    'in progress',
  ],
  ['that is connected', withStatus(), 'Healthy', 'current'],
  [
    'that was connected before an outage of the API',
    withStatus({ outage: { since: NOW } }),
    'Progressing',
    'in progress',
  ],
  [
    'without an engine that was logged out before an outage of the API',
    withStatus({
      outage: { since: NOW },
      projection: accepted({ state: 'logged_out', lease: free }),
      pod: absent,
    }),
    'Degraded',
    'failed',
  ],
  ['that was never paired', withStatus({ projection: accepted(unpaired) }), 'Progressing', 'in progress'],
  [
    'that is being paired',
    withStatus({ projection: accepted({ ...unpaired, pairing: true }) }),
    'Progressing',
    'in progress',
  ],
  [
    'that was logged out',
    withStatus({ projection: accepted({ state: 'logged_out' }) }),
    'Degraded',
    'failed',
  ],
  [
    'that was logged out, without an engine',
    withStatus({ projection: accepted({ state: 'logged_out', lease: free }), pod: absent }),
    'Degraded',
    'failed',
  ],
  [
    'that is being paired again',
    withStatus({ projection: accepted({ state: 'logged_out', pairing: true }) }),
    'Progressing',
    'in progress',
  ],
  ['that is banned', withStatus({ projection: accepted({ state: 'banned' }) }), 'Degraded', 'failed'],
  [
    'that is suspended',
    withStatus({ resource: resource({ suspended: true }), pod: absent }),
    'Suspended',
    'current',
  ],
  [
    'that is suspended and banned',
    withStatus({ resource: resource({ suspended: true }), projection: accepted({ state: 'banned' }) }),
    'Suspended',
    'current',
  ],
  [
    'that is connecting',
    withStatus({ projection: accepted({ state: 'connecting' }) }),
    'Progressing',
    'in progress',
  ],
  ['whose engine exited', withStatus({ pod: endedPod() }), 'Progressing', 'in progress'],
  [
    'whose engine crashes',
    withStatus({ pod: absent, history: crashing, projection: accepted({ lease: free }) }),
    'Degraded',
    'failed',
  ],
  [
    'that was rejected',
    withStatus({
      pod: absent,
      projection: { kind: 'rejected', generation: 1, reason: 'NameTaken', message: 'taken', known: null },
    }),
    'Degraded',
    'failed',
  ],
  [
    'that is being deleted',
    withStatus({
      resource: resource({}, { deletionTimestamp: at(NOW) }),
      projection: accepted({ state: 'logged_out' }),
    }),
    'Progressing',
    'in progress',
  ],
];

test.each(CASES)('an Instance %s', (_, object, argo, flux) => {
  expect([runLua(object).status, runCel(object)]).toEqual([argo, flux]);
});

test('the message is that of the condition', () => {
  const { message } = runLua(withStatus({ projection: accepted({ state: 'logged_out' }) }));
  expect(message).toContain('The device was unlinked');
});

test('every reason is one of the documented conditions', () => {
  const conditions = readFileSync(join(ROOT, 'docs/kubernetes.md'), 'utf8');
  const { failed } = EXPRESSIONS!;
  const inCel = [...failed.matchAll(/'([A-Z][A-Za-z]+)'/g)].map(([, reason]) => reason!);
  const inLua = [...LUA.matchAll(/(\w+) = true/g)].map(([, reason]) => reason!);
  for (const reason of [...inCel, ...inLua]) expect(conditions).toContain(`\`${reason}\``);
  expect(inCel).toEqual(expect.arrayContaining(inLua));
});

import type { Desired } from './desired.js';
import { applyFields, replaceFields, type Applied } from './server-side-apply.js';

const nothing: Applied = { desired: { labels: {}, annotations: {}, spec: {} }, owners: {} };
const want = (spec: Record<string, unknown>, rest: Partial<Desired> = {}): Desired => ({
  labels: {},
  annotations: {},
  spec,
  ...rest,
});
const by = (manager: string, force = false) => ({ manager, force });
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** Applies several changes in order. */
function after(...steps: [manager: string, wanted: Desired, force?: boolean][]): Applied {
  return steps.reduce(
    (now, [manager, wanted, force]) => applyFields(now, wanted, by(manager, force)),
    nothing,
  );
}

test('sets and owns the fields of an apply', () => {
  const now = after([
    'api',
    want({ account: 'main', policy: { menu_ttl_hours: 3 } }, { labels: { 'gwk.dev/x': 'y' } }),
  ]);
  expect(plain(now.desired)).toEqual({
    labels: { 'gwk.dev/x': 'y' },
    annotations: {},
    spec: { account: 'main', policy: { menu_ttl_hours: 3 } },
  });
  expect(now.owners).toEqual({
    'metadata/labels/gwk.dev~1x': ['api'],
    'spec/account': ['api'],
    'spec/policy/menu_ttl_hours': ['api'],
  });
});

test('removes a field that its only owner no longer applies', () => {
  const now = after(
    ['api', want({ account: 'main', displayName: 'Shop' })],
    ['api', want({ account: 'main' })],
  );
  expect(plain(now.desired.spec)).toEqual({ account: 'main' });
});

test('keeps a field while one of its owners applies it', () => {
  const both = after(['api', want({ account: 'main', kind: 'web' })], ['me', want({ kind: 'web' })]);
  expect(both.owners['spec/kind']).toEqual(['api', 'me']);
  const one = applyFields(both, want({ account: 'main' }), by('api'));
  expect(plain(one.desired.spec)).toEqual({ kind: 'web', account: 'main' });
  expect(one.owners['spec/kind']).toEqual(['me']);
});

test('keeps fields of other managers', () => {
  const now = after(
    ['api', want({ account: 'main' })],
    ['me', want({ suspended: true })],
    ['api', want({ account: 'main', displayName: 'x' })],
  );
  expect(plain(now.desired.spec)).toEqual({ suspended: true, account: 'main', displayName: 'x' });
});

test('reports a conflict with the field and its owner', () => {
  const now = after(['api', want({ account: 'main', policy: { menu_ttl_hours: 3 } })]);
  expect(() => applyFields(now, want({ policy: { menu_ttl_hours: 4 } }), by('me'))).toThrow(
    'Apply failed with 1 conflicts: .spec.policy.menu_ttl_hours (conflict with api)',
  );
});

test('accepts an equal value of another owner', () => {
  const now = after(['api', want({ account: 'main' })], ['me', want({ account: 'main' })]);
  expect(now.owners['spec/account']).toEqual(['api', 'me']);
});

test('takes over a field with force', () => {
  const now = after(
    ['api', want({ account: 'main', displayName: 'a' })],
    ['me', want({ displayName: 'b' }), true],
  );
  expect(plain(now.desired.spec)).toEqual({ account: 'main', displayName: 'b' });
  expect(now.owners['spec/displayName']).toEqual(['me']);
});

test('replaces an object by an empty one', () => {
  const now = after(
    ['api', want({ policy: { active_hours: { start: '08:00' } } })],
    ['api', want({ policy: {} })],
  );
  expect(plain(now.desired.spec)).toEqual({ policy: {} });
});

test('replaces an empty object by a full one', () => {
  const now = after(['api', want({ policy: {} })], ['api', want({ policy: { menu_ttl_hours: 1 } })]);
  expect(plain(now.desired.spec)).toEqual({ policy: { menu_ttl_hours: 1 } });
  expect(now.owners).toEqual({ 'spec/policy/menu_ttl_hours': ['api'] });
});

test('treats a list as one value', () => {
  const now = after(
    ['api', want({ policy: { opt_out: { keywords: ['a', 'b'] } } })],
    ['api', want({ policy: { opt_out: { keywords: ['c'] } } })],
  );
  expect(plain(now.desired.spec)).toEqual({ policy: { opt_out: { keywords: ['c'] } } });
});

test('treats JavaScript property names as ordinary keys', () => {
  const spec = JSON.parse(
    '{"policy":{"__proto__":{"polluted":true},"constructor":{"prototype":{"x":1}}}}',
  ) as Record<string, unknown>;
  const now = after(['api', want(spec)]);
  expect(JSON.stringify(now.desired.spec)).toBe(JSON.stringify(spec));
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test('replaces all fields by an edited file, which owns its changes', () => {
  const now = after(['api', want({ account: 'main', displayName: 'a', suspended: true })]);
  const edited = replaceFields(now, want({ account: 'main', displayName: 'b' }), 'folder');
  expect(plain(edited.desired.spec)).toEqual({ account: 'main', displayName: 'b' });
  expect(edited.owners).toEqual({ 'spec/account': ['api'], 'spec/displayName': ['folder'] });
});

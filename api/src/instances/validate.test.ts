import { ID_LABEL, MANIFEST_API_VERSION, type InstanceResource } from '@gwk/core/resources/manifest';
import { validateResource, type KnownInstance, type Observed } from './validate.js';

const ID = `ins_${'a'.repeat(32)}`;
const UUID = 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa';

type Spec = Partial<InstanceResource['spec']>;
type Metadata = Partial<InstanceResource['metadata']>;

const resource = (spec: Spec = {}, metadata: Metadata = {}): InstanceResource => ({
  apiVersion: MANIFEST_API_VERSION,
  kind: 'Instance',
  metadata: {
    namespace: 'gwk',
    name: 'one',
    uid: 'uid-1',
    generation: 2,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...metadata,
  },
  spec: { account: 'acme', kind: 'web', interactiveMode: 'native+text', suspended: false, ...spec },
});

const row = (fields: Partial<KnownInstance> = {}): KnownInstance => ({
  id: UUID,
  accountId: 'acme-id',
  kind: 'web',
  generation: 1n,
  deleted: false,
  ...fields,
});

const seen = (fields: Partial<Observed> = {}): Observed => ({
  account: { id: 'acme-id', namespaces: [], maxInstances: 10 },
  apiNamespace: 'gwk',
  own: null,
  namesake: null,
  labelled: null,
  nameTaken: false,
  counts: { web: 0, sandbox: 0 },
  ...fields,
});

const own = (name: string) => ({ name, labels: { [ID_LABEL]: ID } });

test.each<[string, InstanceResource, Observed, object]>([
  ['a new resource gets a row', resource(), seen(), { do: 'create', id: null }],
  [
    'one made by the API keeps the id of its label',
    resource({}, own(`ins-${'a'.repeat(32)}`)),
    seen(),
    { do: 'create', id: UUID },
  ],
  [
    'a label whose name says otherwise is not believed',
    resource({}, own('one')),
    seen(),
    { do: 'create', id: null },
  ],
  [
    'a label elsewhere is not believed',
    resource({}, { ...own(`ins-${'a'.repeat(32)}`), namespace: 'shop' }),
    seen({ account: { id: 'acme-id', namespaces: ['shop'], maxInstances: 10 } }),
    { do: 'create', id: null },
  ],
  ['a newer generation changes its row', resource(), seen({ own: row() }), { do: 'update', id: UUID }],
  [
    'the same generation changes nothing',
    resource(),
    seen({ own: row({ generation: 2n }) }),
    { do: 'nothing', id: UUID },
  ],
  [
    'an older generation changes nothing',
    resource(),
    seen({ own: row({ generation: 9n }) }),
    { do: 'nothing', id: UUID },
  ],
  [
    'a cluster restored from its manifests finds its rows',
    resource({}, { generation: 1 }),
    seen({ namesake: row({ generation: 40n }) }),
    { do: 'update', id: UUID },
  ],
  [
    'a deleted instance does not come back',
    resource(),
    seen({ own: row({ deleted: true }) }),
    { do: 'reject', reason: 'Deleted' },
  ],
  [
    'nor does it under a new uid',
    resource({}, own(`ins-${'a'.repeat(32)}`)),
    seen({ labelled: row({ deleted: true }) }),
    { do: 'reject', reason: 'Deleted' },
  ],
  ['an unknown account', resource(), seen({ account: null }), { do: 'reject', reason: 'AccountNotAllowed' }],
  [
    'an account closed to the namespace',
    resource({}, { namespace: 'shop' }),
    seen(),
    { do: 'reject', reason: 'AccountNotAllowed' },
  ],
  [
    'another account than before',
    resource(),
    seen({ own: row({ accountId: 'x' }) }),
    { do: 'reject', reason: 'InvalidSpec', id: UUID },
  ],
  [
    'another kind than before',
    resource({ kind: 'sandbox' }),
    seen({ own: row() }),
    { do: 'reject', reason: 'InvalidSpec', id: UUID },
  ],
  [
    'a name that is taken',
    resource(),
    seen({ nameTaken: true }),
    { do: 'reject', reason: 'NameTaken', id: null },
  ],
  [
    'a new name that is taken',
    resource(),
    seen({ own: row(), nameTaken: true }),
    { do: 'reject', reason: 'NameTaken', id: UUID },
  ],
  [
    'the resource name of a foreign row',
    resource(),
    seen({ namesake: row({ accountId: 'x' }) }),
    { do: 'reject', reason: 'NameTaken' },
  ],
  [
    'a full plan',
    resource(),
    seen({ counts: { web: 10, sandbox: 0 } }),
    { do: 'reject', reason: 'InstanceLimitReached' },
  ],
  [
    'a full plan leaves room for a sandbox',
    resource({ kind: 'sandbox' }),
    seen({ counts: { web: 10, sandbox: 2 } }),
    { do: 'create' },
  ],
  [
    'a fourth sandbox',
    resource({ kind: 'sandbox' }),
    seen({ counts: { web: 0, sandbox: 3 } }),
    { do: 'reject', reason: 'InstanceLimitReached' },
  ],
  [
    'a full plan does not stop changes',
    resource(),
    seen({ own: row(), counts: { web: 10, sandbox: 0 } }),
    { do: 'update' },
  ],
  [
    'a policy that is none',
    resource({ policy: { colour: 1 } }),
    seen(),
    { do: 'reject', reason: 'InvalidSpec' },
  ],
])('%s', (_, given, observed, verdict) => {
  expect(validateResource(given, observed)).toMatchObject(verdict);
});

test('an account that does not exist and one that is closed are told in the same words', () => {
  const shop = resource({}, { namespace: 'shop' });
  const words = [seen(), seen({ account: null })].map((observed) => validateResource(shop, observed));
  expect(words[0]).toEqual(words[1]);
});

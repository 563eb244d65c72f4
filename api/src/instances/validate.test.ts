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
  spec: {
    account: 'acme',
    kind: 'web',
    interactiveMode: 'native+text',
    onOtherAccount: 'refuse',
    suspended: false,
    ...spec,
  },
});

const row = (fields: Partial<KnownInstance> = {}): KnownInstance => ({
  id: UUID,
  accountId: 'acme-id',
  kind: 'web',
  resourceGeneration: 1n,
  deletedAt: null,
  ...fields,
});

const createObserved = (fields: Partial<Observed> = {}): Observed => ({
  account: { id: 'acme-id', namespaces: [], maxInstances: 10, isSuspended: false },
  apiNamespace: 'gwk',
  own: null,
  namesake: null,
  labelled: null,
  nameTaken: false,
  counts: { web: 0, sandbox: 0 },
  ...fields,
});

const suspended = { id: 'acme-id', namespaces: [], maxInstances: 10, isSuspended: true };
const own = (name: string) => ({ name, labels: { [ID_LABEL]: ID } });

test.each<[string, InstanceResource, Observed, object]>([
  ['creates a row for a new resource', resource(), createObserved(), { do: 'create', id: null }],
  [
    'keeps the id in the label of a resource made by the API',
    resource({}, own(`ins-${'a'.repeat(32)}`)),
    createObserved(),
    { do: 'create', id: UUID },
  ],
  [
    'ignores a label that does not match the name',
    resource({}, own('one')),
    createObserved(),
    { do: 'create', id: null },
  ],
  [
    'ignores a label in another namespace',
    resource({}, { ...own(`ins-${'a'.repeat(32)}`), namespace: 'shop' }),
    createObserved({
      account: { id: 'acme-id', namespaces: ['shop'], maxInstances: 10, isSuspended: false },
    }),
    { do: 'create', id: null },
  ],
  [
    'updates the row for a newer generation',
    resource(),
    createObserved({ own: row() }),
    { do: 'update', id: UUID },
  ],
  [
    'ignores the same generation',
    resource(),
    createObserved({ own: row({ resourceGeneration: 2n }) }),
    { do: 'nothing', id: UUID },
  ],
  [
    'ignores an older generation',
    resource(),
    createObserved({ own: row({ resourceGeneration: 9n }) }),
    { do: 'nothing', id: UUID },
  ],
  [
    'finds the rows of a cluster restored from its manifests',
    resource({}, { generation: 1 }),
    createObserved({ namesake: row({ resourceGeneration: 40n }) }),
    { do: 'update', id: UUID },
  ],
  [
    'does not restore a deleted instance',
    resource(),
    createObserved({ own: row({ deletedAt: new Date() }) }),
    { do: 'reject', reason: 'Deleted' },
  ],
  [
    'does not restore a deleted instance under a new uid',
    resource({}, own(`ins-${'a'.repeat(32)}`)),
    createObserved({ labelled: row({ deletedAt: new Date() }) }),
    { do: 'reject', reason: 'Deleted' },
  ],
  [
    'rejects an unknown account',
    resource(),
    createObserved({ account: null }),
    { do: 'reject', reason: 'AccountNotAllowed' },
  ],
  [
    'rejects an account closed to the namespace',
    resource({}, { namespace: 'shop' }),
    createObserved(),
    { do: 'reject', reason: 'AccountNotAllowed' },
  ],
  [
    'rejects a new resource of a suspended account',
    resource(),
    createObserved({ account: suspended }),
    {
      do: 'reject',
      reason: 'AccountSuspended',
      message: 'account "acme" is suspended, and gets no new instance',
      id: null,
    },
  ],
  [
    'updates the row of a suspended account',
    resource(),
    createObserved({ account: suspended, own: row() }),
    { do: 'update', id: UUID },
  ],
  [
    'finds the rows of a suspended account in a cluster restored from its manifests',
    resource({}, { generation: 1 }),
    createObserved({ account: suspended, namesake: row({ resourceGeneration: 40n }) }),
    { do: 'update', id: UUID },
  ],
  [
    'rejects a change of account',
    resource(),
    createObserved({ own: row({ accountId: 'x' }) }),
    { do: 'reject', reason: 'InvalidSpec', id: UUID },
  ],
  [
    'rejects a change of kind',
    resource({ kind: 'sandbox' }),
    createObserved({ own: row() }),
    { do: 'reject', reason: 'InvalidSpec', id: UUID },
  ],
  [
    'rejects a new resource with a name that is taken',
    resource(),
    createObserved({ nameTaken: true }),
    { do: 'reject', reason: 'NameTaken', id: null },
  ],
  [
    'rejects a change to a name that is taken',
    resource(),
    createObserved({ own: row(), nameTaken: true }),
    { do: 'reject', reason: 'NameTaken', id: UUID },
  ],
  [
    'rejects the resource name of a row of another account',
    resource(),
    createObserved({ namesake: row({ accountId: 'x' }) }),
    { do: 'reject', reason: 'NameTaken' },
  ],
  [
    'rejects an instance above the plan',
    resource(),
    createObserved({ counts: { web: 10, sandbox: 0 } }),
    { do: 'reject', reason: 'InstanceLimitReached' },
  ],
  [
    'accepts a sandbox beside a full plan',
    resource({ kind: 'sandbox' }),
    createObserved({ counts: { web: 10, sandbox: 2 } }),
    { do: 'create' },
  ],
  [
    'rejects a fourth sandbox',
    resource({ kind: 'sandbox' }),
    createObserved({ counts: { web: 0, sandbox: 3 } }),
    { do: 'reject', reason: 'InstanceLimitReached' },
  ],
  [
    'accepts changes with a full plan',
    resource(),
    createObserved({ own: row(), counts: { web: 10, sandbox: 0 } }),
    { do: 'update' },
  ],
  [
    'rejects an invalid policy',
    resource({ policy: { colour: 1 } }),
    createObserved(),
    { do: 'reject', reason: 'InvalidSpec' },
  ],
])('%s', (_, given, observed, expected) => {
  expect(validateResource(given, observed)).toMatchObject(expected);
});

test('rejects an absent account and a closed one with the same text', () => {
  const shop = resource({}, { namespace: 'shop' });
  const words = [createObserved(), createObserved({ account: null })].map((observed) =>
    validateResource(shop, observed),
  );
  expect(words[0]).toEqual(words[1]);
});

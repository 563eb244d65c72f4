import { OperatorStage } from './operator-stage.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { instancePath, type KubeObject } from '../support/kubernetes/test-cluster.js';
import { pause, until } from '../support/wait.js';

/** The lifecycle of Instances on a real API server, with fake nodes. */
describeOnKubernetes('the operator on Kubernetes', (cluster) => {
  let stage: OperatorStage;
  beforeEach(async () => {
    stage = await OperatorStage.make(cluster());
  });
  afterEach(() => stage.stop());

  const notCreated = async (): Promise<string> => {
    const found = await until(
      async () => (await stage.events('shop')).find(({ reason }) => reason === 'EngineNotCreated'),
      { what: 'the failed creation of the pod is recorded' },
    );
    return found.message;
  };

  test('creates one pod for an Instance and reports it as ready', async () => {
    await stage.node();
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');

    const pods = await stage.pods();
    expect(pods.map(({ metadata }) => metadata.name)).toEqual(['gwk-shop']);
    const shown = (await stage.instance('shop'))!;
    expect(shown.metadata.finalizers).toEqual(['gwk.dev/engine']);
    expect(shown.status).toMatchObject({
      state: 'connected',
      engine: { pod: 'gwk-shop', node: `node-${stage.namespace}`, version: '1' },
    });
    expect(shown.status!.conditions.map(({ type }) => type)).toEqual([
      'Ready',
      'Accepted',
      'EngineRunning',
      'Paired',
      'Connected',
      'UpToDate',
    ]);
  });

  // docs/kubernetes.md names this symptom.
  test('an Instance in a namespace that it does not serve stays without status, events and finalizers', async () => {
    const elsewhere = await cluster().namespace('unserved');
    await cluster().applied({
      apiVersion: 'gwk.dev/v1',
      kind: 'Instance',
      metadata: { name: 'lost', namespace: elsewhere },
      spec: { account: 'main', kind: 'sandbox' },
    });
    await stage.node();
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    const { body } = await cluster().get<KubeObject & { status?: object }>(instancePath(elsewhere, 'lost'));
    expect([body.status, body.metadata.finalizers]).toEqual([undefined, undefined]);
    expect(await cluster().list(`/api/v1/namespaces/${elsewhere}/events`)).toEqual([]);
    expect((await cluster().delete(instancePath(elsewhere, 'lost'))).status).toBe(200);
  });

  test('records its events for describe', async () => {
    await stage.node();
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    const found = await until(
      async () => {
        const reasons = (await stage.events('shop')).map(({ reason }) => reason);
        return reasons.includes('Connected') && reasons;
      },
      { what: 'the events are recorded' },
    );
    expect(found).toEqual(expect.arrayContaining(['EngineCreated', 'Connected']));
  });

  test('writes nothing at rest', async () => {
    await stage.node();
    await stage.operator({ env: { GWK_OPERATOR_LEASE: 'quiet' } });
    for (const name of ['a', 'b', 'c']) await stage.create(name);
    for (const name of ['a', 'b', 'c']) await stage.untilIs(name, 'Ready', 'True');
    const leases = /\/leases/;
    const writes = () => stage.kubernetesApi.writes().filter(({ path }) => !leases.test(path)).length;
    // The cluster is quiet once the count stays the same for a second.
    let before = -1;
    await until(() => before === (before = writes()), { what: 'the cluster is quiet', everyMs: 1000 });
    await pause(3000);
    expect(writes()).toBe(before);
  });

  test('stops the engine, removes the row, then the resource on deletion', async () => {
    await stage.node();
    await stage.operator();
    const { metadata } = await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    await stage.delete('shop');
    await stage.untilGone('shop');
    expect(await stage.pods()).toEqual([]);
    expect(stage.internalApi.factsOf(metadata.uid!)).toBeUndefined();
  });

  test('stops the engine and keeps the resource on suspend', async () => {
    await stage.node();
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    await stage.change('shop', { suspended: true });
    await stage.untilIs('shop', 'EngineRunning', 'False/Suspended');
    await until(async () => (await stage.pods()).length === 0, { what: 'its pod is gone' });
    await stage.change('shop', { suspended: false });
    await stage.untilIs('shop', 'Ready', 'True');
  });

  test('replaces a crashed engine and frees its lease at once', async () => {
    const node = await stage.node();
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    const first = (await stage.pod('shop'))!;
    await node.crash(first);
    const second = await until(
      async () => {
        const pod = await stage.pod('shop');
        return pod && pod.metadata.uid !== first.metadata.uid && pod;
      },
      { what: 'there is another pod' },
    );
    await stage.untilIs('shop', 'Ready', 'True');
    expect(second.metadata.annotations['gwk.dev/engine']).not.toBe(
      first.metadata.annotations['gwk.dev/engine'],
    );
    const messages = async () => (await stage.events('shop')).map(({ message }) => message).join();
    await until(async () => (await messages()).includes('exit code 1: something broke'), {
      what: 'the reason of the first exit is recorded',
    });
  });

  test('reports a crash loop and applies the backoff', async () => {
    await stage.node(undefined, { 'engine:1': 'crashes' });
    await stage.operator();
    await stage.create('shop');
    const { message } = await stage.untilIs('shop', 'EngineRunning', 'False/CrashLoop');
    expect(message).toContain('something broke');
    expect((await stage.instance('shop'))!.status!.lastError).toContain('exit code 1');
  });

  test('reports an image that cannot be pulled', async () => {
    await stage.node(undefined, { 'engine:1': 'missing' });
    await stage.operator();
    await stage.create('shop');
    const { message } = await stage.untilIs('shop', 'EngineRunning', 'False/ImagePullFailed');
    expect(message).toContain('Back-off pulling image');
    await stage.untilIs('shop', 'Ready', 'False/ImagePullFailed');
  });

  test('reports an unknown profile and creates no pod', async () => {
    await stage.node();
    await stage.operator();
    await stage.create('shop', { engine: { profile: 'huge' } });
    await stage.untilIs('shop', 'EngineRunning', 'False/ProfileUnknown');
    expect(await stage.pods()).toEqual([]);
  });

  test('reports AccountNotAllowed and creates no pod', async () => {
    await stage.node();
    stage.internalApi.refuse = () => 'AccountNotAllowed';
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Accepted', 'False/AccountNotAllowed');
    await stage.untilIs('shop', 'Ready', 'False/AccountNotAllowed');
    expect(await stage.pods()).toEqual([]);
  });

  test('neither touches nor adopts a foreign pod with the name', async () => {
    await stage.node();
    const path = `/api/v1/namespaces/${stage.namespace}/pods`;
    const foreign = await cluster().post(path, { metadata: { name: 'gwk-shop' }, spec: FOREIGN });
    expect(foreign.status).toBe(201);
    await stage.operator();
    await stage.create('shop');
    expect(await notCreated()).toContain('is not an engine');
    expect((await stage.pod('shop'))!.metadata.uid).toBe(foreign.body.metadata.uid);
    await cluster().delete(`${path}/gwk-shop`, { gracePeriodSeconds: 0 });
    await stage.untilIs('shop', 'Ready', 'True');
  });

  test('recreates a drained pod on another node', async () => {
    const first = await stage.node('drained-node');
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    first.condition = 'full';
    await stage.node('spare-node');
    const pod = (await stage.pod('shop'))!;
    const evicted = await cluster().post(`/api/v1/namespaces/${stage.namespace}/pods/gwk-shop/eviction`, {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: 'gwk-shop', namespace: stage.namespace },
    });
    expect(evicted.status).toBe(201);
    await until(
      async () => {
        const now = await stage.pod('shop');
        return now?.spec.nodeName === 'spare-node' && now.metadata.uid !== pod.metadata.uid;
      },
      { what: 'it is on the spare node' },
    );
    await stage.untilIs('shop', 'Ready', 'True');
    // A drain does not count as a failure.
    expect((await stage.instance('shop'))!.status!.lastError).toBeUndefined();
  });

  test('records why the API server rejects a pod, and leaves no Secret behind', async () => {
    const image = { image: 'engine:1', runtimeClassName: 'nothing-of-the-kind' };
    await stage.operator({ profiles: { default: image } });
    await stage.create('shop');
    expect(await notCreated()).toContain('nothing-of-the-kind');
    const secrets = () => cluster().list(`/api/v1/namespaces/${stage.namespace}/secrets`);
    await until(async () => (await secrets()).length === 0, { what: 'no secret is left' });
  });

  test('makes the pod the owner of its Secret, which holds only the token', async () => {
    await stage.node();
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    const pod = (await stage.pod('shop'))!;
    const secrets = await cluster().list(`/api/v1/namespaces/${stage.namespace}/secrets`);
    expect(secrets.map(({ metadata }) => metadata['ownerReferences'])).toEqual([
      [{ apiVersion: 'v1', kind: 'Pod', name: 'gwk-shop', uid: pod.metadata.uid }],
    ]);
    expect(Object.keys(secrets[0]!['data'] as object)).toEqual(['token']);
  });

  test('deletes a resource once foreign finalizers are removed', async () => {
    await stage.node();
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    const path = instancePath(stage.namespace, 'shop');
    await cluster().merge(path, { metadata: { finalizers: ['example.com/other', 'gwk.dev/engine'] } });
    await stage.delete('shop');
    await until(
      async () => (await stage.instance('shop'))?.metadata.finalizers?.join() === 'example.com/other',
      { what: 'only the foreign finalizer is left' },
    );
    await cluster().merge(path, { metadata: { finalizers: [] } });
    await stage.untilGone('shop');
  });
});

const FOREIGN = {
  automountServiceAccountToken: false,
  securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
  containers: [
    {
      name: 'web',
      image: 'web:1',
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    },
  ],
  nodeName: 'nowhere',
};

import { OperatorStage } from './operator-stage.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { instancePath } from '../support/kubernetes/test-cluster.js';
import { pause, until } from '../support/wait.js';

/** The life of Instances on a real API server: operator and API server are real, the nodes are played. */
describeOnKubernetes('the operator on Kubernetes', (cluster) => {
  let stage: OperatorStage;
  beforeEach(async () => {
    stage = await OperatorStage.make(cluster());
  });
  afterEach(() => stage.strike());

  const notCreated = async (): Promise<string> => {
    const told = await until(
      async () => (await stage.events('shop')).find(({ reason }) => reason === 'EngineNotCreated'),
      { what: 'that no pod could be made is told' },
    );
    return told.message;
  };

  test('an Instance gets its one pod, and says that it is ready', async () => {
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
    ]);
  });

  test('its story is told in order, for describe', async () => {
    await stage.node();
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    const told = await until(
      async () => {
        const reasons = (await stage.events('shop')).map(({ reason }) => reason);
        return reasons.includes('Connected') && reasons;
      },
      { what: 'the story is told' },
    );
    expect(told).toEqual(expect.arrayContaining(['EngineCreated', 'Connected']));
  });

  test('nothing is written while nothing happens', async () => {
    await stage.node();
    await stage.operator({ env: { GWK_OPERATOR_LEASE: 'quiet' } });
    for (const name of ['a', 'b', 'c']) await stage.create(name);
    for (const name of ['a', 'b', 'c']) await stage.untilIs(name, 'Ready', 'True');
    const leases = /\/leases/;
    const writes = () => stage.api.writes().filter(({ path }) => !leases.test(path)).length;
    // What the last events set off is over when the number stands still for a second.
    let before = -1;
    await until(() => before === (before = writes()), { what: 'peace', everyMs: 1000 });
    await pause(3000);
    expect(writes()).toBe(before);
  });

  test('deleted: the engine ends, the row goes, then the resource', async () => {
    await stage.node();
    await stage.operator();
    const { metadata } = await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    await stage.delete('shop');
    await stage.untilGone('shop');
    expect(await stage.pods()).toEqual([]);
    expect(stage.port.factsOf(metadata.uid!)).toBeUndefined();
  });

  test('suspended: the engine ends and the resource stays', async () => {
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

  test('an engine that crashes is replaced, and its lease is freed at once', async () => {
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
    const told = async () => (await stage.events('shop')).map(({ message }) => message).join();
    await until(async () => (await told()).includes('exit code 1: something broke'), {
      what: 'why the first one ended is told',
    });
  });

  test('a crash loop is told, and waited out', async () => {
    await stage.node(undefined, { 'engine:1': 'crashes' });
    await stage.operator();
    await stage.create('shop');
    const { message } = await stage.untilIs('shop', 'EngineRunning', 'False/CrashLoop');
    expect(message).toContain('something broke');
    expect((await stage.instance('shop'))!.status!.lastError).toContain('exit code 1');
  });

  test('an image that cannot be had is told', async () => {
    await stage.node(undefined, { 'engine:1': 'missing' });
    await stage.operator();
    await stage.create('shop');
    const { message } = await stage.untilIs('shop', 'EngineRunning', 'False/ImagePullFailed');
    expect(message).toContain('Back-off pulling image');
    await stage.untilIs('shop', 'Ready', 'False/ImagePullFailed');
  });

  test('a profile that the configuration does not have is told, and no pod is made', async () => {
    await stage.node();
    await stage.operator();
    await stage.create('shop', { engine: { profile: 'huge' } });
    await stage.untilIs('shop', 'EngineRunning', 'False/ProfileUnknown');
    expect(await stage.pods()).toEqual([]);
  });

  test('an account closed to the namespace: AccountNotAllowed, and no pod', async () => {
    await stage.node();
    stage.port.refuse = () => 'AccountNotAllowed';
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Accepted', 'False/AccountNotAllowed');
    await stage.untilIs('shop', 'Ready', 'False/AccountNotAllowed');
    expect(await stage.pods()).toEqual([]);
  });

  test("somebody else's pod of that name is neither touched nor taken for an engine", async () => {
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

  test('a pod taken by a drain is made anew elsewhere', async () => {
    const first = await stage.node('drained-node');
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    first.mood = 'full';
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
    // A drain is nobody's failure.
    expect((await stage.instance('shop'))!.status!.lastError).toBeUndefined();
  });

  test('what the API refuses a pod for is told in the story, and leaves no secret behind', async () => {
    const image = { image: 'engine:1', runtimeClassName: 'nothing-of-the-kind' };
    await stage.operator({ profiles: { default: image } });
    await stage.create('shop');
    expect(await notCreated()).toContain('nothing-of-the-kind');
    const secrets = () => cluster().list(`/api/v1/namespaces/${stage.namespace}/secrets`);
    await until(async () => (await secrets()).length === 0, { what: 'no secret is left' });
  });

  test('the secret of an engine belongs to its pod, and holds its token alone', async () => {
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

  test('a resource whose finalizers others hold too goes when they let go', async () => {
    await stage.node();
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    const path = instancePath(stage.namespace, 'shop');
    await cluster().merge(path, { metadata: { finalizers: ['example.com/other', 'gwk.dev/engine'] } });
    await stage.delete('shop');
    await until(
      async () => (await stage.instance('shop'))?.metadata.finalizers?.join() === 'example.com/other',
      { what: 'only the other holds it' },
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

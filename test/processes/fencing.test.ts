import { fromPublicId } from '@gwk/core/ids/ids';
import type { Stanza } from '../support/gateway/network.js';
import { isRunning } from '../support/processes.js';
import { startSpareEngine } from './spare-engine.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { sendTraffic, type Traffic } from '../support/gateway/traffic.js';
import { checkTraffic, report, settle } from '../support/gateway/check-traffic.js';
import { until } from '../support/wait.js';

const CONVERSATIONS = 10;
const PER_CONVERSATION = 20;
const PER_SECOND = 50;
/** The other engine starts when this many messages have been accepted. */
const START_AT = 60;
const ACK_MS = 40;

const stanzasOf = (stanzas: Stanza[], pod: string) => stanzas.filter((stanza) => stanza.pod === pod);

describe('two engines for one instance', () => {
  let stage: Stage;
  beforeAll(async () => {
    const api = { GWK_API_LEASE_MS: '3000', GWK_API_LEASE_RENEW_MS: '500' };
    stage = await openStage('fencing', { settings: { api } });
    await stage.gateway.network.setRule({ delayMs: ACK_MS });
  });
  // The operator is stopped during a test, like on a node that hangs, so that it starts no third engine.
  beforeEach(() => stage.gateway.operator.kill('SIGSTOP'));
  afterEach(async () => {
    await stage.gateway.operator.kill('SIGCONT');
    for (const guest of stage.gateway.guests) await guest.stop();
    await stage.customer.client.untilConnected(stage.instance.id);
  });
  afterAll(() => stage?.close());

  const traffic = (name: string, meanwhile: () => void): Promise<Traffic> =>
    sendTraffic({
      clients: stage.customer.clients,
      instanceId: stage.instance.id,
      name,
      conversations: CONVERSATIONS,
      perConversation: PER_CONVERSATION,
      perSecond: PER_SECOND,
      onAccepted: (count) => {
        if (count === START_AT) meanwhile();
      },
    });

  /** Pod and process of the current engine. */
  const currentEngine = async () => {
    const { pid } = await stage.gateway.engine();
    const { client } = stage.customer;
    await client.acceptedText(stage.instance.id, '447700912345', `who sends? ${pid}`);
    const stanza = await until(
      async () => (await stage.gateway.network.stanzas()).find(({ text }) => text.endsWith(` ${pid}`)),
      { what: 'the current engine sends' },
    );
    return { pid, pod: stanza.pod };
  };

  test('only one engine sends, and the other is fenced before its next send', async () => {
    const { network } = stage.gateway;
    const first = await currentEngine();
    const second = await startSpareEngine(stage.gateway, stage.instance.id, 'second');
    const operator = stage.gateway.operatorClient();
    let takenOver: Promise<unknown> | undefined;

    const sends = await traffic('two engines', () => {
      // The operator reports the end of the first engine, which is wrong.
      const instance_id = fromPublicId('instance', stage.instance.id)!;
      takenOver = operator.call('engine-ended', { instance_id, pod: first.pod });
    });
    await takenOver;
    operator.close();
    await until(() => !isRunning(first.pid), { what: 'the fenced engine has ended' });
    await settle(stage.witnesses);

    const stanzas = await network.stanzas();
    const [byFirst, bySecond] = [stanzasOf(stanzas, first.pod), stanzasOf(stanzas, second.pod)];
    const { sums, faults } = await checkTraffic(sends, stage.witnesses);
    report('two engines for one instance', {
      ...sums,
      'stanzas of the first': byFirst.length,
      'stanzas of the second': bySecond.length,
    });
    expect(faults).toEqual([]);
    expect(bySecond.length).toBeGreaterThan(0);
    expect(byFirst.at(-1)!.n).toBeLessThan(bySecond[0]!.n);
    expect(bySecond[0]!.epoch).toBeGreaterThan(byFirst.at(-1)!.epoch);
  });

  test('an engine paused past its lease sends nothing when it continues, and exits', async () => {
    const { network } = stage.gateway;
    const first = await currentEngine();
    let bySecond: Promise<Stanza> | undefined;

    const sends = await traffic('a frozen engine', () => {
      process.kill(first.pid, 'SIGSTOP');
      bySecond = startSpareEngine(stage.gateway, stage.instance.id, 'successor').then(({ pod }) =>
        until(async () => stanzasOf(await network.stanzas(), pod)[0], { what: 'the successor sends' }),
      );
    });
    await bySecond;
    const before = await network.count();
    process.kill(first.pid, 'SIGCONT');
    await until(() => !isRunning(first.pid), { what: 'the thawed engine has ended' });
    await settle(stage.witnesses);

    const thawed = stanzasOf(await network.stanzas(before), first.pod);
    const { sums, faults } = await checkTraffic(sends, stage.witnesses);
    report('an engine frozen past its lease', { ...sums, 'stanzas after the thaw': thawed.length });
    expect(thawed).toEqual([]);
    expect(faults).toEqual([]);
  });
});

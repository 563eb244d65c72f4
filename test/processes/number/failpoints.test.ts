import { SENDING_FAILPOINTS, type Failpoint } from '@gwk/core/failpoints';
import { peopleWrite, roomsOf } from '../../support/number/conversations.js';
import { openNumberStage, type NumberStage } from '../../support/number/stage.js';
import { faultsOf } from '../../support/number/verdict.js';
import { Witness } from '../../support/number/witness.js';
import { chatOf, sendTraffic } from '../../support/gateway/traffic.js';
import { report } from '../../support/gateway/verdict.js';
import { until } from '../../support/wait.js';

/** The windows of the way out, with a number on the real protocol; those of the way in are in windows.test.ts. */
const PER_ROOM = 8;
/** The failpoint is armed when so many have been accepted. */
const ARM_AT = 12;
/** What the worker does is no matter of the number. */
const NAMES = SENDING_FAILPOINTS.filter((name) => !name.startsWith('worker.'));

let stage: NumberStage;
beforeAll(async () => {
  stage = await openNumberStage('failpoints', { contacts: 4, groups: 2 });
}, 120_000);
afterAll(() => stage?.close(), 60_000);

/** True once the process that was to die at the failpoint has. */
function watch(name: Failpoint): () => boolean {
  const { gateway } = stage;
  if (name.startsWith('api.')) {
    const before = gateway.apis[0]!.deaths.length;
    return () => gateway.apis[0]!.deaths.length > before;
  }
  const before = gateway.engines().map(({ pid }) => pid);
  return () => gateway.engines().every(({ pid }) => !before.includes(pid));
}

test.each(NAMES)(
  'a process dies at %s in the midst of traffic both ways: all is read once and in order, all is told once',
  async (name) => {
    const { gateway, customer, id, network } = stage;
    const rooms = roomsOf(stage);
    const witness = new Witness(stage);
    let died: (() => boolean) | undefined;
    const [traffic, said] = await Promise.all([
      sendTraffic({
        clients: customer.clients,
        instanceId: id,
        name,
        conversations: rooms.length,
        recipients: rooms.map(({ to }) => to),
        perConversation: PER_ROOM,
        onAccepted: (count) => {
          if (count !== ARM_AT) return;
          died = watch(name);
          gateway.arm(name);
        },
      }),
      peopleWrite(stage, { name, perRoom: PER_ROOM, perSecond: 40 }),
    ]);
    await until(() => !gateway.isArmed(name) && died?.(), { what: `a process died at ${name}` });
    // An operator that knows of no crashes starts the next engine at once.
    await gateway.operator.kill('SIGKILL');
    await gateway.ready();
    await stage.phone.isConnected();

    const mine = new Set([...traffic.byChat.values()].flat().map((accepted) => accepted.id));
    const texts = new Set([...traffic.byChat.values()].flat().map(({ text }) => text));
    const messages = async () =>
      (await customer.client.messages({ instance_id: id })).filter((m) => mine.has(m.id));
    const undelivered = async () => (await messages()).filter(({ status }) => status !== 'delivered');
    await until(async () => (await undelivered()).length === 0, {
      what: 'all is delivered',
      everyMs: 250,
    }).catch(async (error: unknown) => {
      const left = (await undelivered()).map(({ id: message, status, to }) => `${message} ${status} ${to}`);
      throw new Error(`${(error as Error).message}: ${left.join(', ')}`, { cause: error });
    });
    const ids = new Set([...said.values()].flat().map((one) => one.id));
    const events = () => customer.client.events({ instance_id: id });
    await until(
      async () =>
        (await events()).filter(({ data }) => ids.has(data['wa_message_id'] as string)).length >= ids.size,
      { what: 'all is told', everyMs: 250 },
    );
    await witness.end();
    const arrivals = witness.arrivals.filter(({ text }) => text !== undefined && texts.has(text));
    report(name, {
      accepted: traffic.count,
      'shown by phones': arrivals.filter(({ fate }) => fate === 'shown').length,
      'the same again': arrivals.filter(({ fate }) => fate === 'repeated').length,
    });
    const accepted = new Map(rooms.map(({ to }) => [to, traffic.byChat.get(chatOf(to))!]));
    const observed = { rooms, accepted, said, arrivals, messages: await messages(), events: await events() };
    expect(faultsOf(observed)).toEqual([]);
    expect(witness.askedAgain).toEqual([]);
    expect((await network.status()).violations).toEqual([]);
  },
  180_000,
);

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RECEIVING_FAILPOINTS, type Failpoint } from '@gwk/core/failpoints';
import type { EventOut } from '@gwk/core/resources/event';
import { openNumberStage, type NumberStage } from '../../support/number/stage.js';
import { until } from '../../support/wait.js';

/**
 * An engine dies at the worst moments of the ratchet, and all its files with it. The next one has what the database
 * has, and neither side may notice.
 */
let stage: NumberStage;
/** Where an engine could keep something, if it did. */
const files = mkdtempSync(join(tmpdir(), 'gwk-engine-files-'));

beforeAll(async () => {
  const operator = { HOME: files, TMPDIR: files };
  stage = await openNumberStage('windows', { contacts: 3, groups: 1, gateway: { settings: { operator } } });
}, 120_000);
afterAll(async () => {
  await stage?.close();
  rmSync(files, { recursive: true, force: true });
}, 60_000);

/** The engine ends in `act`, at the failpoint; its files go, and another one is connected. */
async function diesAt(name: Failpoint, act: () => Promise<unknown>): Promise<void> {
  const { gateway } = stage;
  const before = await gateway.engine();
  gateway.arm(name);
  await act();
  await until(() => !gateway.isArmed(name) && gateway.engines().every(({ pid }) => pid !== before.pid), {
    what: `the engine has died at ${name}`,
  });
  rmSync(files, { recursive: true });
  mkdirSync(files);
  // An operator that knows of no crashes starts the next engine at once, however often this is done.
  await gateway.operator.kill('SIGKILL');
  await stage.phone.isConnected();
}

const received = (): Promise<EventOut[]> =>
  stage.customer.client.events({ instance_id: stage.id, type: 'message.received' });

const eventsOf = async (waMessageId: string) =>
  (await received()).filter(({ data }) => data['wa_message_id'] === waMessageId);

/** No phone had to ask for a message again, nor the engine, and none was linked anew. */
async function nobodyNoticed(): Promise<void> {
  const { network, customer, id } = stage;
  const { violations, fates } = await network.status();
  expect(violations).toEqual([]);
  expect(fates).toMatchObject({ dropped: 0, unreadable: 0 });
  expect(await network.receipts({ type: 'retry' })).toEqual([]);
  expect(await customer.client.events({ instance_id: id, type: 'instance.paired' })).toHaveLength(1);
}

const ROOMS = ['a contact', 'a group'];
const chatOf = (room: string) => {
  const [ana] = stage.contacts;
  const [group] = stage.groups;
  return room === 'a contact' ? ana!.number : group!.jid;
};
const inRoom = (room: string, chat: string) => (room === 'a contact' ? {} : { group: chat });

describe.each(ROOMS)('with %s', (room) => {
  const sends = async (text: string) => stage.customer.client.acceptedText(stage.id, chatOf(room), text);
  const shows = (text: string) => stage.contacts[0]!.receives({ text, ...inRoom(room, chatOf(room)) });

  test('the engine dies between the stanza and what is stored after it: this message and the next are read', async () => {
    await sends(`first to ${room}`);
    await shows(`first to ${room}`);
    const last = `the last of an engine to ${room}`;
    await diesAt('engine.after-send', () => sends(last));
    const { id } = await sends(`next to ${room}`);
    await shows(`next to ${room}`);
    expect(await stage.contacts[0]!.inbox({ text: last })).toHaveLength(1);
    await until(async () => (await stage.customer.client.message(id)).status === 'delivered', {
      what: 'it is delivered',
    });
    await nobodyNoticed();
  }, 60_000);

  test.each(RECEIVING_FAILPOINTS)(
    'the engine dies at %s: the message is told once, and the next read',
    async (name) => {
      const [ana] = stage.contacts;
      const to = room === 'a contact' ? stage.phone.number : chatOf(room);
      let id = '';
      await diesAt(name, async () => {
        id = await ana!.writes(`at ${name} to ${room}`, { to });
      });
      const next = await ana!.writes(`after ${name} to ${room}`, { to });
      await until(async () => (await eventsOf(next)).length > 0, { what: 'the next is told' });
      await stage.phone.hasTakenAll();
      expect(await eventsOf(id)).toHaveLength(1);
      expect(await eventsOf(next)).toHaveLength(1);
      expect((await eventsOf(id))[0]!.id < (await eventsOf(next))[0]!.id).toBe(true);
      await nobodyNoticed();
    },
    60_000,
  );
});

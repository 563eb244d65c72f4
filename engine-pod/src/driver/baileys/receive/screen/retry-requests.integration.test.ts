import { deliver } from '@gwk/network/post/mail';
import { node, seconds, type Node } from '@gwk/network/wire/nodes';
import { strangerStage, until, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

/** Forged requests to resend messages, as anybody may send who knows the protocol. */
let stage: Awaited<ReturnType<typeof strangerStage>>;
let eve: NumberStage['ana'];
let group: string;
beforeAll(async () => {
  stage = await strangerStage();
  ({ eve, group } = stage);
});
afterEach(() => jest.restoreAllMocks());
afterAll(() => stage.close());

const lookUps = () => jest.spyOn(stage.number.rows.built, 'get');

/** Delivers a stanza to the instance as the network would. */
function bring(stanza: Node): void {
  const { companions } = stage.running.network.world.people.need(stage.phone.number);
  for (const companion of companions.values()) deliver(companion, stanza);
}

interface Forged {
  from?: string;
  participant?: string;
  more?: string[];
}

function request(id: string, { from = eve.lidJid, more = [], ...attrs }: Forged = {}): void {
  const list = node('list', {}, more.map((item) => node('item', { id: item }))); // prettier-ignore
  const retry = node('retry', { count: '1', id, t: seconds(), v: '1' });
  bring(
    node('receipt', { from, id, type: 'retry', t: seconds(), ...attrs }, [
      ...(more.length > 0 ? [list] : []),
      retry,
    ]),
  );
}

const acknowledged = (id: string) => stage.network.waitStanza({ tag: 'ack', id, way: 'in' } as never);
const sessions = () => JSON.stringify(stage.number.rows.of('session'));
const sentAgain = async (person: NumberStage['ana'], id: string) =>
  (await stage.network.received({ to: person.number, id })).length;

test('resends a message only to its recipients', async () => {
  const { id } = await stage.number.sendText(eve.jid, 'for Eve');
  await eve.receives({ id });
  request(id);
  await until('it comes again', async () => ((await sentAgain(eve, id)) > 1 ? true : undefined));
});

test.each([
  ['to another contact', () => stage.ana.jid],
  ['to a group that the asker is no member of', () => group],
])('a message %s is sent to nobody who asks for it, and no session is begun', async (_, to) => {
  const { number, ana } = stage;
  const { id } = await number.sendText(to(), 'not for Eve');
  await ana.receives({ id });
  const before = [await sentAgain(ana, id), sessions()];
  request(id);
  await acknowledged(id);
  expect(await sentAgain(eve, id)).toBe(0);
  expect([await sentAgain(ana, id), sessions()]).toEqual(before);
});

test('treats a request that lists 5,000 ids as one for the first', async () => {
  const { number } = stage;
  const [asked, listed] = [await number.sendText(eve.jid, 'asked'), await number.sendText(eve.jid, 'listed')];
  await eve.receives({ id: listed.id });
  const looked = lookUps();
  const more = Array.from({ length: 5_000 }, (_, n) => (n === 7 ? listed.id : `3EB0LISTED${n}`));
  request(asked.id, { more });
  await until('it comes again', async () => ((await sentAgain(eve, asked.id)) > 1 ? true : undefined));
  await acknowledged(asked.id);
  expect(await sentAgain(eve, listed.id)).toBe(1);
  expect(looked.mock.calls.length).toBeLessThanOrEqual(1);
});

test('limits the lookups and sessions for a thousand requests, and delays nobody', async () => {
  const { number, ana, phone } = stage;
  const [looked, before] = [lookUps(), sessions()];
  for (let n = 0; n < 1_000; n++) request(`3EB0FORGED${n}`);
  await acknowledged('3EB0FORGED999');
  expect(looked.mock.calls.length).toBeLessThanOrEqual(60);
  expect(sessions()).toBe(before);
  await ana.writes('beside it', { to: phone.number });
  await number.text('beside it');
  const { id } = await number.sendText(ana.jid, 'for Ana');
  await ana.receives({ id });
  request(id, { from: ana.lidJid });
  await until('it comes again', async () => ((await sentAgain(ana, id)) > 1 ? true : undefined));
});

test("limits how often a phone's request resends a message to the whole group", async () => {
  const { number, ana } = stage;
  const { id } = await number.sendText(group, 'for friends');
  await ana.receives({ id });
  for (let n = 0; n < 40; n++) request(id, { from: group, participant: ana.lidJid });
  await acknowledged(id);
  await number.sendText(group, 'after it');
  await ana.receives('after it');
  expect(await sentAgain(ana, id)).toBeLessThanOrEqual(1 + 5);
});

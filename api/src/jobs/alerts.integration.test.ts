import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { mailSettings } from '../config/mail.js';
import { proxySettings } from '@gwk/core/config/proxy';
import { loadConfig } from '@gwk/core/config/load';
import { createJobWorld, type JobWorld } from '@gwk/test/support/api/jobs';
import { startMailServer, type MailServer } from '@gwk/test/support/servers/mail-server';
import { openMailer } from '../mail/mailer.js';
import type { NoticeResult } from '../alerts/notices.js';
import { openContent } from '../messages/content.js';
import { alertIncidentsJob, alertNoticesJob } from './alerts.js';

const MINUTE = 60_000;
const START = Date.parse('2026-05-04T12:00:00Z');

let given: JobWorld;
let server: MailServer;
/** Minutes since START. */
let minutes = 0;
let results: [string, NoticeResult][] = [];
let consoleUrl: string | undefined;
/** The server accepts no mail. */
let down = false;

beforeAll(async () => {
  given = await createJobWorld();
  server = await startMailServer({
    refusedRecipient: 'refused@example.com',
    onMail: () => {
      if (down) throw new Error('down');
    },
  });
});
beforeEach(async () => {
  const { database: db, accountId } = given.world;
  await db.alertContact.deleteMany({ where: { accountId } });
  await db.alertIncident.deleteMany({ where: { accountId } });
  await db.webhookEndpoint.deleteMany({ where: { accountId } });
  await db.instance.updateMany({ where: { accountId }, data: { deletedAt: new Date(START) } });
  server.mails.length = 0;
  results = [];
  minutes = 0;
  down = false;
  consoleUrl = undefined;
});
afterAll(async () => {
  await given.world.close();
  await server.stop();
});

const time = (at = minutes) => new Date(START + at * MINUTE);
const incidents = () => alertIncidentsJob(given.deps, () => time());
const notices = () =>
  alertNoticesJob(
    {
      ...given.deps,
      mailer: openMailer(
        loadConfig({ ...mailSettings, ...proxySettings('GWK_WORKER', 'tests') }, server.settings),
      ),
      acceptor: given.world.acceptor(),
      consoleUrl,
      onResult: (channel, result) => results.push([channel, result]),
    },
    () => time(),
  );
async function work(): Promise<void> {
  await incidents().pass();
  await notices().pass();
}

async function addContact(channel = 'email', address = 'ana@example.com', verifiedAt: Date | null = time(0)) {
  const id = newUuid();
  const contact = { name: 'Ana', language: 'en', channel, address, verifiedAt };
  await given.world.database.alertContact.create({
    data: { id, accountId: given.world.accountId, ...contact },
  });
  return id;
}

const addInstance = (state = 'connected', name = 'loja') =>
  given.world.addInstance({
    state,
    name: `${name} ${newUuid()}`,
    stateChangedAt: time(0),
    firstConnectedAt: time(-100),
  });
const setState = (id: string, state: string) =>
  given.world.database.instance.update({ where: { id }, data: { state, stateChangedAt: time() } });
const subjects = () =>
  server.mails.map(({ subject }) => subject.replace(/ “.*”/, '').replace(/ http.*$/, ''));
const messages = async (instanceId: string) => given.world.database.message.count({ where: { instanceId } });

async function readTexts(instanceId: string): Promise<string[]> {
  const rows = await given.world.database.messageContent.findMany({ where: { instanceId } });
  return rows.map(({ contentSealed }) => {
    const content = openContent(given.world.sealer, instanceId, contentSealed);
    return (JSON.parse(content) as { text: { body: string } }).text.body;
  });
}

test('alerts lead to the page of the number or endpoint, if the worker knows the console', async () => {
  await addContact();
  await addContact('whatsapp', '5511987654321');
  const { database: db, accountId } = given.world;
  const senderId = await addInstance();
  const instance = await addInstance('logged_out');
  const endpoint = newUuid();
  const disabled = { enabled: false, disabledReason: 'gone', disabledAt: time(0) };
  await db.webhookEndpoint.create({
    data: { id: endpoint, accountId, url: 'https://shop.example/', ...disabled },
  });
  consoleUrl = 'https://gwk.example.com/whatsapp';
  await work();
  const account = `https://gwk.example.com/console/${toPublicId('account', accountId)}`;
  const links = server.mails.map(({ text }) => /Open in the console:\s+(\S+)/.exec(text)?.[1]);
  expect(links.sort()).toEqual([
    `${account}/numbers/${toPublicId('instance', instance)}`,
    `${account}/webhooks/${toPublicId('endpoint', endpoint)}`,
  ]);
  const texts = await readTexts(senderId);
  expect(texts.filter((text) => text.includes(`\n\nOpen in the console: ${account}/`))).toHaveLength(2);
  consoleUrl = undefined;
  await setState(instance, 'connected');
  await work();
  expect(server.mails.at(-1)!.text).not.toContain('Open in the console');
});

test('a number that is down for 5 minutes: one mail, and one when it is connected again', async () => {
  await addContact();
  const id = await addInstance('disconnected');
  minutes = 4;
  await work();
  expect(subjects()).toEqual([]);
  for (minutes = 5; minutes < 8; minutes++) {
    await setState(id, minutes % 2 ? 'connecting' : 'disconnected');
    await given.world.database.instance.update({ where: { id }, data: { stateChangedAt: time(0) } });
    await work();
  }
  expect(subjects()).toEqual(['Number not connected']);
  expect(server.mails[0]!.text).toContain('Time: 2026-05-04 12:00 UTC');
  await setState(id, 'connected');
  await work();
  await work();
  expect(subjects()).toEqual(['Number not connected', 'Resolved: number']);
  expect(results).toEqual([
    ['email', 'sent'],
    ['email', 'sent'],
  ]);
});

test('an outage of several states lasts since the number was last connected', async () => {
  await addContact();
  const id = await addInstance('connecting');
  await given.world.database.instanceState.create({
    data: { id: newUuid(), instanceId: id, state: 'connected', since: time(-100), endedAt: time(-6) },
  });
  await work();
  expect(subjects()).toEqual(['Number not connected']);
  expect(server.mails[0]!.text).toContain('Time: 2026-05-04 11:54 UTC');
});

test('a logout and a ban are reported at once, and instead of an outage', async () => {
  await addContact();
  const id = await addInstance('disconnected');
  minutes = 5;
  await work();
  await setState(id, 'logged_out');
  await work();
  await setState(id, 'connecting');
  minutes = 30;
  await work();
  await setState(id, 'connected');
  await work();
  await setState(id, 'banned');
  await work();
  expect(subjects()).toEqual([
    'Number not connected',
    'Number logged out',
    'Resolved: number',
    'Number banned',
  ]);
});

test('a disabled endpoint is reported until it is enabled, without the query of its URL', async () => {
  await addContact();
  const { database: db, accountId } = given.world;
  const id = newUuid();
  const endpoint = { enabled: false, disabledReason: 'gone', disabledAt: time(0) };
  await db.webhookEndpoint.create({
    data: { id, accountId, url: 'https://shop.example/hook?secret=1', ...endpoint },
  });
  await work();
  expect([subjects(), server.mails[0]!.subject]).toEqual([
    ['Webhook'],
    'Webhook https://shop.example/hook disabled',
  ]);
  await db.webhookEndpoint.update({ where: { id }, data: { enabled: true, disabledReason: null } });
  await work();
  expect(subjects()).toEqual(['Webhook', 'Resolved: webhook']);
});

test('an endpoint that its owner disables is no incident', async () => {
  await addContact();
  const { database: db, accountId } = given.world;
  await db.webhookEndpoint.create({
    data: { id: newUuid(), accountId, url: 'https://shop.example/', enabled: false },
  });
  await work();
  expect(subjects()).toEqual([]);
});

test('a contact without a verified address receives nothing', async () => {
  await addContact('email', 'new@example.com', null);
  await addInstance('logged_out');
  await work();
  expect(server.mails).toEqual([]);
});

test('two workers report an incident once', async () => {
  await addContact();
  await addInstance('logged_out');
  await Promise.all([incidents().pass(), incidents().pass()]);
  await Promise.all([notices().pass(), notices().pass(), notices().pass()]);
  expect(subjects()).toEqual(['Number logged out']);
});

test('a worker that dies after the claim or after the send: another sends the same mail after 2 minutes', async () => {
  await addContact();
  await addInstance('logged_out');
  await work();
  // The row as the dead worker left it.
  await given.world.database.alertNotice.updateMany({
    data: { status: 'pending', finishedAt: null, lockedUntil: time(2) },
  });
  minutes = 1;
  await notices().pass();
  expect(server.mails).toHaveLength(1);
  minutes = 2;
  await notices().pass();
  const ids = server.mails.map(({ headers }) => headers.get('message-id'));
  expect([ids.length, new Set(ids).size]).toEqual([2, 1]);
});

test('retries while the server is down, and reports begin before end', async () => {
  await addContact();
  const id = await addInstance('logged_out');
  down = true;
  await work();
  expect(results).toEqual([['email', 'retried']]);
  await setState(id, 'connected');
  down = false;
  await work();
  expect(subjects()).toEqual([]);
  minutes = 1;
  await notices().pass();
  await notices().pass();
  expect(subjects()).toEqual(['Number logged out', 'Resolved: number']);
});

test('gives up after 12 attempts, and at once for an address that the server refuses', async () => {
  await addContact();
  await addContact('email', 'refused@example.com');
  const id = await addInstance('logged_out');
  down = true;
  await work();
  expect(results.sort()).toEqual([
    ['email', 'failed'],
    ['email', 'retried'],
  ]);
  for (let n = 2; n <= 12; n++) {
    minutes += 60;
    await notices().pass();
  }
  expect(results.filter(([, result]) => result === 'failed')).toHaveLength(2);
  down = false;
  minutes += 60;
  await setState(id, 'connected');
  await work();
  expect(server.mails).toEqual([]);
});

test('WhatsApp alerts leave by another connected number, once, also after a crash', async () => {
  await addContact('whatsapp', '5511987654321');
  const sender = await addInstance();
  const broken = await addInstance('logged_out');
  await work();
  expect([await messages(sender), await messages(broken)]).toEqual([1, 0]);
  await given.world.database.alertNotice.updateMany({ data: { status: 'pending', lockedUntil: time(0) } });
  await notices().pass();
  expect([await messages(sender), results]).toEqual([
    1,
    [
      ['whatsapp', 'sent'],
      ['whatsapp', 'sent'],
    ],
  ]);
});

test('WhatsApp alerts wait while no other number is connected', async () => {
  await addContact('whatsapp', '5511987654321');
  const broken = await addInstance('logged_out');
  await work();
  expect([await messages(broken), results]).toEqual([0, [['whatsapp', 'retried']]]);
  const sender = await addInstance();
  minutes = 1;
  await notices().pass();
  expect(await messages(sender)).toBe(1);
});

test('a removed number ends its incident, and a removed contact receives no end', async () => {
  const gone = await addContact('email', 'gone@example.com');
  await addContact();
  const id = await addInstance('banned');
  await work();
  const { database: db } = given.world;
  await db.alertContact.delete({ where: { id: gone } });
  await db.instance.update({ where: { id }, data: { deletedAt: time() } });
  await work();
  const ends = server.mails.filter(({ subject }) => subject.startsWith('Resolved'));
  expect(ends.map(({ to }) => to)).toEqual([['ana@example.com']]);
});

test('a contact who is added during an incident receives neither its begin nor its end, but the next one', async () => {
  await addContact();
  const id = await addInstance('disconnected');
  minutes = 5;
  await work();
  await addContact('email', 'late@example.com');
  await setState(id, 'connected');
  await work();
  await setState(id, 'banned');
  await work();
  const received = server.mails.map(({ to, subject }) => [to[0], subject.replace(/ “.*”/, '')]);
  expect(received.filter(([to]) => to === 'late@example.com')).toEqual([
    ['late@example.com', 'Number banned'],
  ]);
  expect(received.filter(([to]) => to === 'ana@example.com')).toHaveLength(3);
});

test('a WhatsApp alert that fails after it was accepted is not repeated, and e-mails arrive all the same', async () => {
  await addContact();
  await addContact('whatsapp', '5511987654321');
  const sender = await addInstance();
  const id = await addInstance('logged_out');
  await work();
  const { database: db } = given.world;
  await db.message.updateMany({
    where: { instanceId: sender },
    data: { status: 'failed', failedAt: time() },
  });
  minutes = 120;
  await work();
  expect([await messages(sender), subjects()]).toEqual([1, ['Number logged out']]);
  await setState(id, 'connected');
  await work();
  expect([await messages(sender), subjects()]).toEqual([2, ['Number logged out', 'Resolved: number']]);
});

import type { Person } from '@gwk/network/control/client';
import { startNetwork, type RunningNetwork } from '@gwk/network/start';
import { until } from '@gwk/network/testing/stock-client';
import { buildGoClient, GoClient, hasGo } from './whatsmeow-client.js';

const mustRun = process.env.CI === 'true';
const proof = hasGo || mustRun ? describe : describe.skip;

// An independent, unmodified client of the same protocol with its own codec, Noise and Signal.
proof(
  hasGo ? 'a client on whatsmeow' : 'a client on whatsmeow (needs Go, which is not installed here)',
  () => {
    let running: RunningNetwork;
    let phone: Person;
    let ana: Person;
    let client: GoClient;
    let program: string;

    beforeAll(async () => {
      if (!hasGo) throw new Error('CI requires Go: the test with an independent client must not be skipped');
      program = await buildGoClient();
      running = await startNetwork();
      phone = await running.client.phone('5511900000001', { name: 'Shop' });
      ana = await running.client.contact('5511900000002', { name: 'Ana', devices: 2 });
      await running.client.call('remember', {
        number: phone.number,
        messages: [{ with: ana.number, text: 'long ago' }],
      });
      client = new GoClient(program, running);
    });

    afterAll(async () => {
      await client?.stop();
      await running?.close();
    });

    it('pairs by QR code and logs in', async () => {
      await phone.scan((await client.says('qr')).code as string);
      expect(await client.says('paired')).toMatchObject({ jid: `${phone.number}:1@s.whatsapp.net` });
      await client.says('connected');
      expect(await client.says('history', ({ type }) => type === 'INITIAL_BOOTSTRAP')).toMatchObject({
        chats: 1,
      });
    });

    it('checks which phone numbers are on the network', async () => {
      client.order({ do: 'is-on', phone: ana.number });
      expect(await client.says('is-on')).toMatchObject({
        ...{ found: true, jid: ana.lidJid, phone: ana.jid },
      });
      client.order({ do: 'is-on', phone: '5511999999999' });
      expect(await client.says('is-on')).toMatchObject({ found: false });
    });

    it('sends to every device of a contact and receives delivery and read receipts', async () => {
      client.order({ do: 'send', to: ana.jid, text: 'hello Ana' });
      const { id } = await client.says('sent');
      const received = await ana.receives({ id: id as string });
      expect(received).toMatchObject({ text: 'hello Ana', fate: 'shown' });
      await running.client.waitReceived({ id: id as string, to: ana.number, device: 1, fate: 'shown' });
      await client.says(
        'receipt',
        ({ ids, type }) => (ids as string[]).includes(id as string) && type === '',
      );
      await ana.reads(received);
      await client.says(
        'receipt',
        ({ ids, type }) => (ids as string[]).includes(id as string) && type === 'read',
      );
    });

    // It keeps the devices of a contact under the LID, and passes over a notice by the phone number alone.
    it('sends to a device at once that a contact links later', async () => {
      const device = await ana.linksDevice('lid');
      await running.client.call('waitTaken', { number: phone.number });
      client.order({ do: 'send', to: ana.lidJid, text: `hello device ${device}` });
      const { id } = await client.says('sent');
      expect(await ana.receives({ id: id as string, device, limitMs: 5_000 })).toMatchObject({
        fate: 'shown',
      });
    });

    it('receives one receipt for several messages', async () => {
      const sent: string[] = [];
      for (const text of ['one', 'two']) {
        client.order({ do: 'send', to: ana.jid, text });
        sent.push((await client.says('sent')).id as string);
      }
      const [first = '', second = ''] = sent;
      await ana.receives({ id: second });
      await ana.reads({ id: first }, second);
      await client.says('receipt', ({ ids, type }) => type === 'read' && String(ids) === String(sent));
    });

    it('receives by LID and by phone number in one session', async () => {
      await ana.writes('oi', { to: phone.number });
      expect(await client.says('message', ({ text }) => text === 'oi')).toMatchObject({
        sender: ana.lidJid,
        name: 'Ana',
      });
      await ana.writes('by number', { to: phone.number, options: { addressing: 'pn' } });
      expect(await client.says('message', ({ text }) => text === 'by number')).toMatchObject({
        sender: ana.jid,
      });
      client.order({ do: 'send', to: ana.lidJid, text: 'back to the lid' });
      await client.says('sent');
      expect(await ana.receives('back to the lid')).toMatchObject({
        encryption: 'msg',
        addressed: ana.lidJid,
      });
    });

    it('sends and receives files over TLS', async () => {
      client.order({ do: 'send-file', to: ana.jid, text: 'the content of the file' });
      const { id } = await client.says('sent');
      const received = await ana.receives({ id: id as string });
      expect((await ana.opens(received)).toString()).toBe('the content of the file');
      await ana.writesFile('image', Buffer.from('a picture'), { to: phone.number });
      expect(await client.says('message', ({ file }) => file !== undefined)).toMatchObject({
        file: 'a picture',
      });
    });

    it('reads the history from a file, and deletes the file', async () => {
      const files = () => running.network.world.media?.list().length;
      const before = files();
      await running.client.call('sendHistory', { number: phone.number, inFile: true });
      expect(await client.says('history', ({ type }) => type === 'RECENT')).toMatchObject({ chats: 1 });
      await until(() => files() === before || undefined, 'the end of the file');
    });

    it('sends and receives in a group', async () => {
      const bia = await running.client.contact('5511900000003', { name: 'Bia' });
      const group = await running.client.group('Team', [phone, ana, bia]);
      client.order({ do: 'send', to: group, text: 'hello all' });
      const { id } = await client.says('sent');
      for (const person of [ana, bia]) await person.receives({ id: id as string, group });
      await running.client.confirmTogether([ana.number, bia.number], id as string, true);
      for (const person of [ana, bia])
        await client.says('receipt', ({ sender, type }) => sender === person.lidJid && type === 'read');
      await bia.writes('hello from Bia', { to: group });
      expect(await client.says('message', ({ text }) => text === 'hello from Bia')).toMatchObject({
        chat: group,
      });
    });

    it('writes to a person with a username and no known phone number', async () => {
      const cid = await running.client.contact('5511900000004', { username: 'cid', phoneHidden: true });
      await cid.writes('no number', { to: phone.number });
      expect(await client.says('message', ({ text }) => text === 'no number')).toMatchObject({
        ...{ sender: cid.lidJid, alt: '' },
      });
      client.order({ do: 'send', to: cid.lidJid, text: 'by LID' });
      expect(await cid.receives('by LID')).toMatchObject({ addressed: cid.lidJid });
      const group = await running.client.group('No numbers', [cid, phone, ana]);
      await cid.writes('in a group', { to: group });
      expect(await client.says('message', ({ text }) => text === 'in a group')).toMatchObject({
        ...{ sender: cid.lidJid, alt: '' },
      });
      client.order({ do: 'send', to: group, text: 'to all' });
      for (const person of [ana, cid]) await person.receives({ text: 'to all', group });
      await cid.renames('other');
      await cid.showsPhone();
      await cid.writes('with a number', { to: phone.number });
      expect(await client.says('message', ({ text }) => text === 'with a number')).toMatchObject({
        ...{ sender: cid.lidJid, alt: cid.jid },
      });
    });

    it('takes a message of a business at the Cloud API for one of its contact', async () => {
      for (const [addressing, jid] of [
        ['lid', ana.lidJid],
        ['pn', ana.jid],
      ] as const) {
        const text = `by the Cloud API, ${addressing}`;
        await ana.writes(text, { to: phone.number, options: { hosted: true, addressing } });
        expect(await client.says('message', (fact) => fact.text === text)).toMatchObject({
          ...{ chat: jid, sender: jid.replace('@', ':99@') },
        });
      }
    });

    it('reconnects by itself and receives queued messages in order', async () => {
      const cut = running.client.cut(phone.number);
      for (const text of ['waiting 1', 'waiting 2', 'waiting 3'])
        await ana.writes(text, { to: phone.number });
      await cut;
      await client.says('disconnected');
      await client.says('connected');
      for (const text of ['waiting 1', 'waiting 2', 'waiting 3']) {
        const next = client.says('message', ({ text: said }) => String(said).startsWith('waiting'));
        expect(await next).toMatchObject({ text });
      }
      client.order({ do: 'send', to: ana.jid, text: 'back again' });
      await ana.receives('back again');
      await phone.hasTakenAll();
    });

    it('resends a message that a phone could not decrypt', async () => {
      const world = running.network.world;
      world.people.need(ana.number).phone.signal.forgetSession({ user: phone.lid, device: 1 });
      client.order({ do: 'send', to: ana.jid, text: 'once more' });
      expect(await ana.receives('once more')).toMatchObject({ fate: 'shown' });
    });

    it('neither violates the protocol nor sends an unhandled stanza', async () => {
      const { violations, unhandled } = await running.client.status();
      expect(violations).toEqual([]);
      expect(unhandled).toEqual([]);
    });

    it('receives a ban, its end, and the unlinking', async () => {
      await running.client.ban(phone.number, { minutes: 60 });
      expect(Number((await client.says('banned')).seconds)).toBeGreaterThan(3500);
      await running.client.lift(phone.number);
      await client.stop();
      client = new GoClient(program, running);
      await client.says('qr');
      client.order({ do: 'pair-code', phone: phone.number });
      await phone.types((await client.says('pair-code')).code as string);
      await client.says('connected');
      await phone.unlinks(2);
      await client.says('logged-out');
    });

    it('is refused at linking and at login if its version is too old', async () => {
      await client.stop();
      client = new GoClient(program, running);
      await phone.scan((await client.says('qr')).code as string);
      await client.says('connected');
      await running.client.oldestVersion({ version: [9, 9, 9] });
      await running.client.cut(phone.number);
      await client.says('outdated');
      await client.stop();
      client = new GoClient(program, running);
      await client.says('outdated');
      const refused = await running.client.logins({ refused: 405 });
      expect(refused).toMatchObject([
        { kind: 'login', number: phone.number, version: expect.stringMatching(/^2\.3000\.\d+$/) as string },
        { kind: 'linking', number: null, version: refused[0]!.version },
      ]);
    });
  },
);

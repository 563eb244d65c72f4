import { BUNDLED } from '@gwk/core/client-version';
import {
  numberStage,
  QR,
  seenMeanwhile,
  type NumberStage,
} from '@gwk/test/support/engine/simulated-instance';

const OLD = BUNDLED.version;
const NEW = '2.3000.1044142122';
const MINIMUM: [number, number, number] = [2, 3000, 1_044_000_000];

let stage: NumberStage;
beforeEach(async () => {
  stage = await numberStage();
  stage.number.rows.versionResults.length = 0;
});
afterEach(() => stage.close());

const logins = async (number: string) =>
  (await stage.network.logins({ number })).map(({ kind, version, refused }) =>
    [kind, version, refused ?? 'ok'].join(' '),
  );

/** Ends the connection without a close, as a lost line does. */
async function cut(): Promise<void> {
  const { number, network, phone } = stage;
  number.events.length = 0;
  await network.cut(phone.number);
  await number.happens('closed');
  number.events.length = 0;
}

test('announces the bundled version in a pairing and at login', async () => {
  expect(await logins(stage.phone.number)).toEqual([`linking ${OLD} ok`, `login ${OLD} ok`]);
});

test('keeps the open connection when the network raises its minimum, and connects with the named version', async () => {
  const { number, network, phone, ana } = stage;
  await network.oldestVersion({ version: MINIMUM });
  await ana.writes('still here', { to: phone.number });
  await number.text('still here');
  await cut();
  number.rows.clientVersions.push(NEW);
  number.connect();
  await number.happens('opened');
  expect((await logins(phone.number)).slice(2)).toEqual([`login ${NEW} ok`]);
  expect(number.rows.versionResults).toEqual([`${NEW} accepted`]);
});

test('after a refusal connects at once with the next version, and reports nothing in between', async () => {
  const { number, network, phone } = stage;
  await network.oldestVersion({ version: MINIMUM });
  await cut();
  number.rows.clientVersions.push(OLD, NEW);
  number.connect();
  await number.happens('opened');
  expect(number.events.map(({ kind }) => kind)).toEqual(['opened']);
  expect((await logins(phone.number)).slice(2)).toEqual([`login ${OLD} 405`, `login ${NEW} ok`]);
  expect(number.rows.versionResults).toEqual([`${OLD} refused`, `${NEW} accepted`]);
});

test.each([405, 409])('reports the refusal %d if no other version is known', async (reason) => {
  const { number, network, phone } = stage;
  await network.oldestVersion({ version: MINIMUM, reason });
  await cut();
  number.connect();
  const { disconnect } = await number.happens('closed');
  expect(disconnect).toEqual({ kind: 'dropped', reason: `version_rejected_${reason}`, reconnect: 'slowly' });
  expect((await logins(phone.number)).slice(2)).toEqual([`login ${OLD} ${reason}`]);
});

test('does not connect while another instance tries a version', async () => {
  const { number, phone } = stage;
  await cut();
  number.rows.clientVersions.push(null);
  number.connect();
  const { disconnect } = await number.happens('closed');
  expect(disconnect).toEqual({ kind: 'dropped', reason: 'version_expected', reconnect: 'slowly' });
  expect(await logins(phone.number)).toHaveLength(2);
});

test('a refused pairing shows a code with the next version', async () => {
  const { number, network, phone } = stage;
  await number.driver.logout();
  number.events.length = 0;
  await network.oldestVersion({ version: MINIMUM, at: 'linking' });
  number.rows.clientVersions.push(OLD, NEW);
  number.connect(QR);
  const { code } = await number.happens('qr');
  await phone.scan(code);
  await number.happens('opened');
  expect(number.rows.versionResults).toEqual([`${OLD} refused`, `${OLD} accepted`]);
});

test('a connection that was closed meanwhile is not opened with another version', async () => {
  const { number, network, phone } = stage;
  await network.oldestVersion({ version: MINIMUM });
  await cut();
  number.rows.clientVersions.push(OLD, NEW);
  const closed = new Promise<void>((resolve) => {
    number.rows.onVersionRefused = () => number.driver.close().then(resolve);
  });
  number.connect();
  await closed;
  await seenMeanwhile(stage, () => undefined);
  expect((await logins(phone.number)).slice(2)).toEqual([`login ${OLD} 405`]);
});

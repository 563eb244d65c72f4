import type { UserFacingSocketConfig } from '@whiskeysockets/baileys';
import type { ClientVersion } from './faults/versions.js';
import { setStage, type Stage } from './testing/stage.js';
import type { StockClient } from './testing/stock-client.js';

const OLD: ClientVersion = [2, 3000, 1_000];
const NEW: ClientVersion = [2, 3000, 2_000];
const announce = (version: ClientVersion): Partial<UserFacingSocketConfig> => ({ version });

let stage: Stage;
let old: StockClient;

beforeEach(async () => {
  stage = await setStage();
  await stage.client.stop();
  old = await stage.newClient(stage.client.auth, announce(OLD)).open().connected();
});
afterEach(() => stage.close());

const seen = async (number: string) =>
  (await stage.network.logins({ number, kind: 'login' })).map(({ version, refused }) => ({
    version,
    refused,
  }));

describe('a minimum version', () => {
  it('keeps open connections, and refuses the next login of an old client', async () => {
    const { network, newClient, phone, ana } = stage;
    await network.oldestVersion({ version: NEW });
    expect(old.text(await old.gotId(await ana.writes('still here', { to: phone.number })))).toBe(
      'still here',
    );
    await network.cut('*');
    await old.closed();
    const { seq = 0 } = (await network.logins()).at(-1) ?? {};
    const refused = newClient(old.auth, announce(OLD)).open();
    expect(await refused.closed()).toMatchObject({ code: 405 });
    await newClient(old.auth, announce(NEW)).open().connected();
    expect(
      (await network.logins({ number: phone.number, after: seq })).map(({ refused }) => refused),
    ).toEqual([...[405, null]]);
    expect((await seen(phone.number)).slice(-3)).toEqual([
      { version: OLD.join('.'), refused: null },
      { version: OLD.join('.'), refused: 405 },
      { version: NEW.join('.'), refused: null },
    ]);
  });

  it('refuses the registration of a device', async () => {
    const { network, newClient } = stage;
    await network.oldestVersion({ version: NEW });
    expect(await newClient(undefined, announce(OLD)).open().closed()).toMatchObject({ code: 405 });
    expect(await network.waitLogin({ kind: 'linking', refused: 405 })).toMatchObject({
      ...{ number: null, version: OLD.join('.') },
    });
    expect(await newClient(undefined, announce(NEW)).open().qr()).toContain('2@');
  });

  it('at linking only, leaves the logins of linked devices', async () => {
    const { network, newClient, phone } = stage;
    await network.oldestVersion({ version: NEW, at: 'linking', reason: 409 });
    expect(await newClient(undefined, announce(OLD)).open().closed()).toMatchObject({ code: 409 });
    await network.cut(phone.number);
    await newClient(old.auth, announce(OLD)).open().connected();
    expect(await network.logins({ kind: 'login', refused: 409 })).toEqual([]);
  });

  it('refuses some of the phone numbers, at linking once the phone has scanned the code', async () => {
    const { network, newClient, phone } = stage;
    const other = await network.phone('5511900000007');
    const spared = await newClient(undefined, announce(OLD)).pair(other);
    await network.oldestVersion({ version: NEW, numbers: [phone.number] });
    await network.cut('*');
    expect(await newClient(old.auth, announce(OLD)).open().closed()).toMatchObject({ code: 405 });
    await newClient(spared.auth, announce(OLD)).open().connected();
    const second = newClient(undefined, announce(OLD)).open();
    await expect(phone.scan(await second.qr())).rejects.toThrow('links no device of this version');
    expect(await second.closed()).toMatchObject({ code: 405 });
    await newClient(undefined, announce(OLD)).pair(other);
    expect(await network.logins({ number: phone.number, kind: 'linking', refused: 405 })).toHaveLength(1);
  });

  it('is lifted again', async () => {
    const { network, newClient, phone } = stage;
    await network.oldestVersion({ version: NEW });
    await network.oldestVersion();
    await network.cut(phone.number);
    await newClient(old.auth, announce(OLD)).open().connected();
  });
});

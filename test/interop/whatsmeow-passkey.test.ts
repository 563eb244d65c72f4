import type { Person } from '@gwk/network/control/client';
import type { Manners } from '@gwk/network/people/account';
import { startNetwork, type RunningNetwork } from '@gwk/network/start';
import { buildGoClient, GoClient, hasGo } from './whatsmeow-client.js';

const mustRun = process.env.CI === 'true';
const proof = hasGo || mustRun ? describe : describe.skip;

interface Options {
  challenge: string;
  rpId: string;
}

// whatsmeow's own ceremony, in each variant that gwk's engine passes, too (passkey.integration.test.ts of the engine).
proof('a client on whatsmeow links with a passkey', () => {
  let running: RunningNetwork;
  let program: string;
  let client: GoClient;
  let phone: Person;
  let last = 5511900000400;

  beforeAll(async () => {
    if (!hasGo) throw new Error('CI requires Go: the test with an independent client must not be skipped');
    program = await buildGoClient();
    running = await startNetwork();
  });
  afterAll(() => running?.close());
  afterEach(() => client.stop());

  /** Scans the code of a new client, and returns the request. */
  async function begin(manners: Partial<Manners> = {}): Promise<Options> {
    phone = await running.client.phone(String(++last), { name: 'Shop' });
    await phone.behaves({ needsPasskey: true, ...manners });
    return scan();
  }
  async function scan(): Promise<Options> {
    client = new GoClient(program, running);
    await expect(phone.scan((await client.says('qr')).code as string)).rejects.toThrow('without a passkey');
    return request();
  }
  const request = async () => (await client.says('passkey')).options as Options;
  async function answer(options: Options): Promise<void> {
    client.order({ do: 'passkey', credential: JSON.stringify(await phone.asserts(options)) });
  }
  const companions = () => running.network.world.people.need(phone.number).companions.size;
  /** whatsmeow proves the hand-off of a repeated request with a secret that no code has shown, so codes are compared. */
  async function repeat(): Promise<Options> {
    await running.client.call('repeatPasskeyRequest', { number: phone.number });
    return request();
  }
  async function works(): Promise<void> {
    await client.says('paired');
    await client.says('connected');
    const ana = await running.client.contact(String(++last), { name: 'Ana' });
    await ana.writes('oi', { to: phone.number });
    await client.says('message', ({ text }) => text === 'oi');
    client.order({ do: 'send', to: ana.jid, text: 'hello' });
    await ana.receives('hello');
    const { violations, unhandled } = await running.client.status();
    expect([violations, unhandled]).toEqual([[], []]);
  }

  it('with a valid proof of the hand-off, for which nobody compares codes, and again at the next linking', async () => {
    const options = await begin();
    expect(options).toMatchObject({ rpId: 'whatsapp.com', userVerification: 'required' });
    await answer(options);
    expect(await client.says('passkey-code')).toMatchObject({ skips: true });
    expect((await phone.passkey()).code).toBeNull();
    client.order({ do: 'passkey-confirm' });
    await works();
    await client.stop();
    await answer(await scan());
    await client.says('passkey-code');
    client.order({ do: 'passkey-confirm' });
    await works();
  });

  it('after a repeated request, with a code that is equal on both sides', async () => {
    const first = await begin();
    const repeated = await repeat();
    expect(repeated.challenge).not.toBe(first.challenge);
    await answer(repeated);
    const { code } = await client.says('passkey-code');
    expect(String(code).replace('-', '')).toBe((await phone.passkey()).code);
    client.order({ do: 'passkey-confirm' });
    await works();
  });

  it('not, if the codes differ and nobody confirms', async () => {
    await begin({ passkeyEnds: 'code-differs' });
    await answer(await repeat());
    const { code } = await client.says('passkey-code');
    expect(String(code).replace('-', '')).not.toBe((await phone.passkey()).code);
    expect(companions()).toBe(0);
  });

  it.each<[string, Partial<Manners>]>([
    ['refuses', { passkeyEnds: 'refused' }],
    ['takes no answer any more', { passkeyMs: 1 }],
  ])('not, if the network %s', async (_, manners) => {
    await answer(await begin(manners));
    expect(await client.says('error')).toMatchObject({ do: 'passkey' });
    expect(companions()).toBe(0);
  });

  it('not, if the phone continues with a broken stanza', async () => {
    await answer(await begin({ passkeyEnds: 'malformed' }));
    await client.says('passkey-error');
    expect(companions()).toBe(0);
  });

  it('not, if the phone is gone', async () => {
    await answer(await begin({ passkeyEnds: 'gone' }));
    await client.says('passkey-sent');
    client.order({ do: 'passkey-confirm' });
    expect(await client.says('error')).toMatchObject({ do: 'passkey-confirm' });
    expect(companions()).toBe(0);
  });
});

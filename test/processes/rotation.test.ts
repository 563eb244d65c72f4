import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { makeServerCertificate, type ServerCertificate } from '@gwk/operator/secrets/certificate';
import { createClient } from 'redis';
import { query } from '../support/servers/database.js';
import type { Gateway } from '../support/gateway/gateway.js';
import type { Environment } from '../support/program.js';
import { readPageBlocks } from '../support/readme.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { testPhone } from '../support/gateway/traffic.js';
import { realTime, until } from '../support/wait.js';

/** Follows "Rotation" of docs/security.md on real processes that continue to serve. */
describe('a running gateway whose secrets are rotated', () => {
  let stage: Stage;
  let gateway: Gateway;
  beforeAll(async () => {
    stage = await openStage('rotation', { ownPostgres: true, ownRedis: true });
    ({ gateway } = stage);
  });
  afterAll(() => stage?.close());

  const sends = async (text: string) => {
    const { client } = stage.customer;
    const { id } = await client.acceptedText(stage.instance.id, testPhone(1), text);
    await until(() => client.hasLeft(id), { what: `${text}: a message leaves` });
  };
  /** Deletes the instance again, because an account may have three sandboxes. */
  const connectsAnother = async (name: string) => {
    const { client } = stage.customer;
    const { id } = await client.connectedInstance(name);
    await client.expect(204, 'DELETE', `/v1/instances/${id}`);
  };
  const restart = async (kind: 'apis' | 'workers' | 'operator', env: Environment) => {
    for (const program of kind === 'operator' ? [gateway.operator] : gateway[kind]) {
      await program.stop();
      Object.assign(program.options.env, env);
      await program.start();
    }
  };

  test("rotates the operator's token: the API accepts both, the operator changes to the new one, the old one is removed", async () => {
    const old = gateway.settings.operatorToken;
    const token = 'a-new-token-of-the-operator-0123456789';
    await restart('apis', { GWK_OPERATOR_TOKEN: `${old},${token}` });
    await sends('the API accepts both');
    await restart('operator', { GWK_OPERATOR_TOKEN: `${token},${old}` });
    await connectsAnother('made with the new token');
    await restart('apis', { GWK_OPERATOR_TOKEN: token });
    await stage.customer.client.untilConnected(stage.instance.id);
    await sends('the old token is removed');
    const refused = gateway.operatorClient();
    await expect(refused.call('observe', { ids: [] })).rejects.toThrow(/unauthorized/);
    refused.close();
    gateway.settings.operatorToken = token;
  });

  test('rotates the encryption keys: both decrypt, the new one encrypts, old values are re-encrypted, the old key retires', async () => {
    const old = gateway.settings.encryptionKeys;
    const next = randomBytes(32).toString('base64');
    const everywhere = async (keys: string) => {
      for (const kind of ['apis', 'workers'] as const) await restart(kind, { GWK_ENCRYPTION_KEYS: keys });
      gateway.settings.encryptionKeys = keys;
    };
    await everywhere(`${old},${next}`);
    await sends('both keys decrypt');
    await everywhere(`${next},${old}`);
    await sends('the new key encrypts');
    const before = gateway.engines();
    await connectsAnother('made under the new key');
    const status = () =>
      gateway.gwk<{ current: string; encrypted: Record<string, number> }>('encryption', 'status');
    expect(Object.keys((await status()).encrypted)).toHaveLength(2);
    const done = await gateway.gwk<{ reencrypted: number; left: number; retired: string[] }>(
      'encryption',
      'reencrypt',
    );
    expect(done).toMatchObject({ left: 0, retired: [expect.any(String)] });
    expect(done.reencrypted).toBeGreaterThan(10);
    const { current, encrypted } = await status();
    expect(Object.keys(encrypted)).toEqual([current]);
    await sends('re-encrypted');
    await everywhere(next);
    for (const { pid } of before) process.kill(pid);
    await until(() => gateway.engines().every(({ pid }) => before.every((other) => other.pid !== pid)), {
      what: 'the former engines have ended',
    });
    await stage.customer.client.untilConnected(stage.instance.id);
    await sends('the old key is removed');
    await connectsAnother('made without the old key');
  });

  test('API and worker refuse to start with another encryption key and name the fix; nothing is lost', async () => {
    const [api] = gateway.apis;
    const right = { GWK_ENCRYPTION_KEYS: gateway.settings.encryptionKeys };
    const wrong = { GWK_ENCRYPTION_KEYS: Buffer.alloc(32, 9).toString('base64') };
    for (const program of [api!, gateway.workers[0]!]) {
      await program.stop();
      Object.assign(program.options.env, wrong);
      await expect(program.start()).rejects.toThrow(/ended \(exit code 2\)/);
      expect(program.lastLines()).toContain('Set GWK_ENCRYPTION_KEYS to the key that was in use');
      await program.stop();
    }
    Object.assign(gateway.workers[0]!.options.env, right);
    Object.assign(api!.options.env, right);
    await gateway.workers[0]!.start();
    await api!.start();
    await stage.customer.client.untilConnected(stage.instance.id);
    await sends('with the right key');
  });

  test('rotates the Postgres user: a second one takes over and the first is disabled, then a third one', async () => {
    const first = new URL(gateway.settings.databaseUrl);
    const administrator = new URL(first);
    administrator.username = 'administrator';
    await query(
      first.href,
      `CREATE ROLE administrator SUPERUSER LOGIN PASSWORD '${decodeURIComponent(first.password)}'`,
    );
    const [make, end] = readPageBlocks('security.md', 'sql');
    const takeOver = async (user: string) => {
      const next = new URL(first);
      [next.username, next.password] = [user, 'another%20password'];
      await query(administrator.href, make!.replaceAll('gwk_b', user));
      await restart('apis', { DATABASE_URL: next.href });
      await sends(`the API is ${user}`);
      await restart('workers', { DATABASE_URL: next.href });
      gateway.settings.databaseUrl = next.href;
      return next.href;
    };

    const second = await takeOver('gwk_b');
    await query(administrator.href, end!);
    await expect(query(first.href, 'SELECT 1')).rejects.toThrow(/not permitted to log in/);
    await sends('the first user is disabled');
    // The second user can create partitions, like the worker, and tables, like a migration.
    await query(second, `SELECT gwk_ensure_partitions('messages', current_date + 20, current_date + 20)`);
    await query(second, 'CREATE TABLE of_a_migration ()');
    await connectsAnother('made by the second user');

    const third = await takeOver('gwk_c');
    // Succeeds only if the role owns nothing.
    await query(administrator.href, 'ALTER ROLE gwk_b NOLOGIN; DROP ROLE gwk_b');
    await query(
      third,
      `SELECT gwk_drop_partition('messages_' || to_char(current_date + 20, 'YYYYMMDD'), 0, 0)`,
    );
    await query(third, 'DROP TABLE of_a_migration');
    await sends('the second user is removed');
  });

  test('rotates the Redis password: both are valid, API and worker change to the new one, the old one is removed', async () => {
    const old = new URL(gateway.settings.redisUrl);
    const next = new URL(old);
    next.password = 'another-password-9876543210';
    const redis = createClient({ url: old.href });
    await redis.connect();
    await redis.sendCommand(['ACL', 'SETUSER', 'default', `>${next.password}`]);
    await restart('apis', { REDIS_URL: next.href });
    await sends('the API has the new password');
    await restart('workers', { REDIS_URL: next.href });
    await redis.sendCommand(['ACL', 'SETUSER', 'default', `<${old.password}`]);
    redis.destroy();
    gateway.settings.redisUrl = next.href;
    const late = createClient({ url: old.href, socket: { reconnectStrategy: false } }).on(
      'error',
      () => undefined,
    );
    await expect(late.connect()).rejects.toThrow(/WRONGPASS/);
    await sends('the old password is removed');
    await connectsAnother('made with the new password');
  });

  test('rotates the authority of the internal API: both are trusted, the certificate is reloaded, the former one is removed', async () => {
    const file = (name: string) => join(gateway.folder, name);
    const [former, next] = [
      await makeServerCertificate(['localhost']),
      await makeServerCertificate(['localhost']),
    ];
    const serve = ({ cert, key }: ServerCertificate) => {
      writeFileSync(file('tls.key'), key);
      writeFileSync(file('tls.crt'), cert);
    };
    const trust = async (...authorities: ServerCertificate[]) => {
      writeFileSync(file('ca.crt'), authorities.map(({ ca }) => ca).join(''));
      await restart('operator', {
        GWK_OPERATOR_INTERNAL_URL: url,
        GWK_OPERATOR_INTERNAL_CA_FILE: file('ca.crt'),
      });
    };
    const port = Number(new URL(gateway.internalUrls[0]!).port);
    const url = `https://localhost:${port}`;
    serve(former);
    await restart('apis', {
      GWK_API_INTERNAL_TLS_CERT_FILE: file('tls.crt'),
      GWK_API_INTERNAL_TLS_KEY_FILE: file('tls.key'),
    });
    await trust(former);
    await sends('under the former authority');

    await trust(former, next);
    await sends('both authorities are trusted');
    expect(await trusts(port, former)).toBe(true);
    serve(next);
    await until(() => trusts(port, next), {
      what: 'the new certificate is served',
      timeoutMs: realTime(60_000),
    });
    await sends('the certificate has changed');
    await trust(next);
    expect(await trusts(port, former)).toBe(false);
    await sends('the former authority is removed');
    await connectsAnother('made under the new authority');
  });
});

/** Whether a client that trusts only this authority accepts the certificate of the port. */
function trusts(port: number, { ca }: ServerCertificate): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ca }, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

import { argon2 } from 'node:crypto';
import { promisify } from 'node:util';
import { Passwords } from './passwords.js';

const derive = promisify(argon2);

test('verifies the password of a hash, and no other', async () => {
  const passwords = new Passwords();
  const stored = await passwords.hash('seven blue horses');
  expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(await passwords.verify('seven blue horses', stored)).toBe(true);
  expect(await passwords.verify('seven blue horse', stored)).toBe(false);
  expect(await passwords.hash('seven blue horses')).not.toBe(stored);
});

test('recognises a password typed with other code points for the same letters', async () => {
  const passwords = new Passwords();
  const stored = await passwords.hash('maçã e limão são');
  expect(await passwords.verify('maçã e limão são'.normalize('NFD'), stored)).toBe(true);
});

test('hashes as much for an unknown user as for a known one', async () => {
  const work: unknown[] = [];
  const passwords = new Passwords(((algorithm: 'argon2id', parameters: Parameters<typeof derive>[1]) => {
    const { memory, passes, parallelism, tagLength } = parameters;
    work.push({ algorithm, memory, passes, parallelism, tagLength });
    return derive(algorithm, parameters);
  }) as typeof derive);
  await passwords.verify('x', await passwords.hash('seven blue horses'));
  await passwords.verify('x', null);
  await passwords.verify('x', 'not a hash');
  expect(work).toHaveLength(4);
  expect(new Set(work.map((one) => JSON.stringify(one))).size).toBe(1);
});

import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import pLimit from 'p-limit';

/** Parameters of argon2id: 19 MiB, 2 passes (OWASP). A hash takes about 30 ms. */
const MEMORY_KIB = 19_456;
const PASSES = 2;
const PARALLELISM = 1;
const HASH_BYTES = 32;
const SALT_BYTES = 16;
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

interface Parameters {
  memory: number;
  passes: number;
  parallelism: number;
}

const DEFAULTS: Parameters = { memory: MEMORY_KIB, passes: PASSES, parallelism: PARALLELISM };
const deriveKey = promisify(argon2);

/** Hashes passwords, two at a time: each hash needs 19 MiB and a thread. */
export class Passwords {
  readonly #limit = pLimit(2);

  constructor(readonly derive: typeof deriveKey = deriveKey) {}

  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const key = await this.#derive(password, salt, DEFAULTS);
    const { memory, passes, parallelism } = DEFAULTS;
    return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${toText(salt)}$${toText(key)}`;
  }

  /**
   * Compares a password with a stored hash. Without one it hashes all the same, so that the time does not reveal whether a
   * user exists.
   */
  async verify(password: string, stored: string | null): Promise<boolean> {
    const [, memory, passes, parallelism, salt = '', key = ''] = PHC.exec(stored ?? '') ?? [];
    const expected = Buffer.from(key, 'base64');
    if (expected.length !== HASH_BYTES) {
      await this.#derive(password, randomBytes(SALT_BYTES), DEFAULTS);
      return false;
    }
    const parameters = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
    const derived = await this.#derive(password, Buffer.from(salt, 'base64'), parameters);
    return timingSafeEqual(derived, expected);
  }

  #derive(password: string, salt: Buffer, parameters: Parameters): Promise<Buffer> {
    const message = password.normalize('NFC');
    return this.#limit(() =>
      this.derive('argon2id', { message, nonce: salt, tagLength: HASH_BYTES, ...parameters }),
    );
  }
}

const toText = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');

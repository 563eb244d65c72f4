import { Secret, TOTP } from 'otpauth';
import { PASSWORD, type Browser } from './console.js';

const PERIOD_MS = 30_000;

/** An app on a phone that shows codes. */
export class Authenticator {
  readonly #totp: TOTP;

  constructor(secret: string) {
    this.#totp = new TOTP({ secret: Secret.fromBase32(secret) });
  }

  /** @param later periods of 30 s from now */
  code(later = 0): string {
    return this.#totp.generate({ timestamp: Date.now() + later * PERIOD_MS });
  }

  /** A code that no period near now has. */
  wrongCode(): string {
    const right = [-2, -1, 0, 1, 2].map((later) => this.code(later));
    return ['000000', '111111', '222222', '333333', '444444', '555555'].find(
      (code) => !right.includes(code),
    )!;
  }
}

/** Sets up the second factor of the person in the browser. */
export async function setUpTotp(
  browser: Browser,
  password: string | null = PASSWORD,
): Promise<{ app: Authenticator; backupCodes: string[] }> {
  const path = '/console/api/profile/totp';
  const { body } = await browser.call<{ secret: string }>('POST', path, { body: { password } });
  const app = new Authenticator(body.secret);
  const confirmed = await browser.call<{ backup_codes: string[] }>('POST', `${path}/confirm`, {
    body: { code: app.code() },
  });
  if (confirmed.status !== 200) throw new Error(`the second factor was not confirmed: ${confirmed.status}`);
  return { app, backupCodes: confirmed.body.backup_codes };
}

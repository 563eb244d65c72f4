import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Access {
  base_url: string;
  api_key: string;
}

interface Pairing {
  state: string;
  qr: { code: string } | null;
  pairing_code: string | null;
}

const POLL_MS = 500;
const LIMIT_MS = 30_000;

/** The gateway of `make run`, seen by a customer: enough to read its QR codes. */
export class LocalGateway {
  readonly #access: Access;

  constructor(folder: string) {
    this.#access = JSON.parse(readFileSync(join(folder, 'gwk.json'), 'utf8')) as Access;
  }

  /** Opens the pairing of an instance, or joins an open one. @returns the content of its QR code */
  async readQrCode(instance: string): Promise<string> {
    const path = `/v1/instances/${instance}/pairing`;
    let pairing = await this.#ask('POST', path);
    const end = Date.now() + LIMIT_MS;
    while (!pairing.qr) {
      if (Date.now() > end) throw new Error(`${instance} shows no QR code; it is ${pairing.state}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      pairing = await this.#ask('GET', path);
    }
    return pairing.qr.code;
  }

  async #ask(method: string, path: string): Promise<Pairing> {
    const { base_url: base, api_key: key } = this.#access;
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(base + path, { method, headers });
    const body = (await response.json()) as Pairing & { title?: string; detail?: string };
    if (!response.ok)
      throw new Error(`${method} ${path}: ${response.status} ${body.detail ?? body.title ?? ''}`);
    return body;
  }
}

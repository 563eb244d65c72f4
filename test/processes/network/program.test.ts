import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { NetworkClient } from '@gwk/network/control/client';
import type { Whereabouts } from '@gwk/network/program';
import { StockClient } from '@gwk/network/testing/stock-client';
import { GWK } from '../../support/program.js';

const folder = mkdtempSync(join(tmpdir(), 'gwk-network-'));
const run = promisify(execFile);
const gwk = async (...args: string[]) => {
  const { stdout } = await run(process.execPath, [GWK, 'network', ...args, '--folder', folder]);
  return stdout.trim();
};

let program: ChildProcess;
let where: Whereabouts;

beforeAll(async () => {
  const ports = ['--port', '0', '--control-port', '0', '--media-port', '0'];
  program = spawn(process.execPath, [GWK, 'network', 'start', '--folder', folder, ...ports], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  where = await new Promise<Whereabouts>((resolve, reject) => {
    program.once('close', () => reject(new Error('the network did not start')));
    if (program.stdout) {
      createInterface(program.stdout).once('line', (line) => resolve(JSON.parse(line) as Whereabouts));
    }
  });
});

afterAll(async () => {
  if (program.exitCode === null) {
    const ended = new Promise((resolve) => program.once('close', resolve));
    program.kill('SIGTERM');
    await ended;
  }
  rmSync(folder, { recursive: true });
});

describe('gwk network', () => {
  it('start reports its address on standard output and in a file', () => {
    expect(JSON.parse(readFileSync(join(folder, 'network.json'), 'utf8'))).toEqual(where);
    expect(readFileSync(where.media_ca, 'utf8')).toContain('BEGIN CERTIFICATE');
  });

  it('serves the script of the web client', async () => {
    expect(await (await fetch(where.web_client)).text()).toContain('client_revision');
  });

  it('say writes to the linked phone number, inbox shows the answer', async () => {
    const client = new NetworkClient(where.control);
    const phone = await client.phone('5511900000001');
    const stock = new StockClient({ url: where.url, root: Buffer.from(where.root, 'hex') });
    await stock.pair(phone);
    const id = await gwk('say', '+55 11 98888-7777', 'is anybody there?');
    expect(stock.text(await stock.gotId(id))).toBe('is anybody there?');
    await stock.send('5511988887777@s.whatsapp.net', { text: 'we are' });
    const contact = await client.contact('5511988887777');
    await contact.receives('we are');
    expect(await gwk('inbox', '5511988887777')).toMatch(/5511900000001 .* we are$/);
    await stock.stop();
  });

  it('reports an error in one line', async () => {
    await expect(gwk('say', '5511988887777', 'hello', '--to', '5511900000009')).rejects.toThrow(
      /gwk: write: 5511900000009 is not on the network\n$/,
    );
    await expect(gwk('say', 'nobody', 'hello')).rejects.toThrow('must be a phone number of 8 to 15 digits');
  });
});

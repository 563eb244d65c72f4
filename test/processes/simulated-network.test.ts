import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Whereabouts } from '@gwk/network/program';
import { newCustomer, type Customer } from '../support/gateway/customer.js';
import { Gateway } from '../support/gateway/gateway.js';
import { baseEnvironment, GWK, ROOT } from '../support/program.js';
import { normalizeShape, readPageSteps } from '../support/readme.js';
import { Shell } from '../support/shell.js';
import { realTime, until } from '../support/wait.js';

const ID = /\bins_[0-9a-f]{32}\b/g;

/**
 * Runs every command of docs/own-number.md against a gateway on the simulated network, as `NETWORK=simulated make run`
 * starts it, in a folder like the one of `make run`. Replaces only ids.
 */
describe('the commands of docs/own-number.md', () => {
  let program: ChildProcess;
  let gateway: Gateway;
  let customer: Customer;
  let shell: Shell;
  const folder = mkdtempSync(join(tmpdir(), 'gwk-own-number-'));

  beforeAll(async () => {
    mkdirSync(join(folder, '.local'));
    symlinkSync(join(ROOT, 'bin'), join(folder, 'bin'));
    const { url, root, media_ca } = await startNetwork();
    const operator = {
      GWK_OPERATOR_NETWORK_URL: url,
      GWK_OPERATOR_NETWORK_ROOT: root,
      GWK_OPERATOR_NETWORK_CA_FILE: media_ca,
    };
    gateway = await Gateway.start({ settings: { operator } });
    customer = await newCustomer(gateway, 'simulated');
    const access = { base_url: gateway.urls[0], api_key: customer.key.api_key };
    writeFileSync(join(folder, '.local/gwk.json'), JSON.stringify(access));
    shell = new Shell(folder, baseEnvironment());
  });
  afterAll(async () => {
    shell?.close();
    customer?.close();
    await gateway?.stop();
    program?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  async function startNetwork(): Promise<Whereabouts> {
    const ports = ['--port', '0', '--control-port', '0', '--media-port', '0'];
    const args = [GWK, 'network', 'start', '--folder', join(folder, '.local'), ...ports];
    program = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env: baseEnvironment() });
    const lines = createInterface(program.stdout!);
    return new Promise((resolve) => lines.once('line', (line) => resolve(JSON.parse(line) as Whereabouts)));
  }

  test('every command prints what the page shows', async () => {
    const steps = readPageSteps('own-number.md');
    expect(steps.length).toBeGreaterThan(5);
    let instance = '';
    for (const { command, output } of steps) {
      const typed = command.replace(ID, () => instance);
      const printed = await shell.type(typed);
      instance ||= ID.exec(printed)?.[0] ?? '';
      if (output === null) expect(printed).toBe('');
      else if (output.startsWith('{'))
        expect(normalizeShape(JSON.parse(printed))).toEqual(normalizeShape(JSON.parse(output)));
      else
        await printsSoon(
          typed,
          printed,
          output.replace(ID, () => instance),
        );
    }
    const png = readFileSync(join(folder, 'qr.png'));
    expect(png.subarray(1, 4).toString()).toBe('PNG');
  });

  /** Repeats the last line until its output matches: messages may arrive later. */
  async function printsSoon(command: string, printed: string, output: string): Promise<void> {
    const look = command.includes('network say')
      ? command.split('\n').slice(1).join('\n')
      : command.split('\n').at(-1)!;
    let seen = printed.trim();
    await until(
      async () => {
        if (seen === output) return true;
        if (!/events|inbox/.test(look)) return false;
        seen = (await shell.type(look)).trim();
        return false;
      },
      { what: `${command}\nprints\n${output}`, timeoutMs: realTime(30_000), everyMs: 300 },
    ).catch(() => undefined);
    expect(seen).toBe(output);
  }
});

import { readFileSync } from 'node:fs';
import { InvalidArgumentError, type Command } from 'commander';
import type { ProgramOptions } from './program.js';

const NUMBER = '5511900000001';

function port(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 65_535)
    throw new InvalidArgumentError('a port is meant');
  return value;
}

function phone(text: string): string {
  const digits = text.replace(/[\s()+-]/g, '');
  if (!/^\d{8,15}$/.test(digits)) throw new InvalidArgumentError('a number of 8 to 15 digits is meant');
  return digits;
}

interface Folder {
  folder: string;
}

/** Whoever plays people needs only to know where the network is. */
async function clientOf({ folder }: Folder) {
  const [{ NetworkClient }, { whereaboutsFile }] = await Promise.all([
    import('./control/client.js'),
    import('./program-file.js'),
  ]);
  const file = whereaboutsFile(folder);
  let control: string;
  try {
    ({ control } = JSON.parse(readFileSync(file, 'utf8')) as { control: string });
  } catch {
    throw new Error(
      `there is no ${file}: start the network first (NETWORK=simulated make run, or gwk network start)`,
    );
  }
  return new NetworkClient(control);
}

/** Says what is wrong in one line, without a stack. */
function plainly<Args extends unknown[]>(work: (...args: Args) => Promise<void>) {
  return async (...args: Args) => {
    try {
      await work(...args);
    } catch (error) {
      process.stderr.write(`gwk: ${(error as Error).message}\n`);
      process.exitCode = 1;
    }
  };
}

export function register(program: Command): void {
  const network = program
    .command('network')
    .description('a simulated messaging network: pair and chat without a phone');
  const command = (name: string, description: string) =>
    network
      .command(name)
      .description(description)
      .option('--folder <folder>', 'where the network is kept, and the gateway of make run', '.local');
  registerStart(command);
  registerPeople(command);
}

type Make = (name: string, description: string) => Command;

function registerStart(command: Make): void {
  command('start', 'run the network until Ctrl-C (npm run network)')
    .option('--port <port>', 'for clients', port, 8090)
    .option('--control-port <port>', 'for those who play people', port, 8091)
    .option('--media-port <port>', 'of the media hosts', port, 8092)
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--forget', 'begin with nobody and keep nothing')
    .action(async (options: ProgramOptions) => {
      const { runProgram } = await import('./program.js');
      await runProgram(options);
    });
}

function registerPeople(command: Make): void {
  command('scan', 'scan the QR code of an instance with a simulated phone')
    .argument('<instance>', 'its id (ins_...)')
    .option('--number <number>', 'number of the phone', phone, NUMBER)
    .action(
      plainly(async (instance: string, options: Folder & { number: string }) => {
        const [client, { LocalGateway }] = await Promise.all([clientOf(options), import('./gateway.js')]);
        const owner = await client.phone(options.number);
        const { device } = await owner.scan(await new LocalGateway(options.folder).qrOf(instance));
        console.log(`linked: ${instance} is device ${device} of ${owner.number}`);
      }),
    );
  command('say', 'write to a linked number as a contact')
    .argument('<contact>', 'number of the contact; a new one appears by itself', phone)
    .argument('<text>')
    .option('--to <number>', 'the linked number, where there are several', phone)
    .action(
      plainly(async (contact: string, text: string, options: Folder & { to?: string }) => {
        const client = await clientOf(options);
        const person = await client.contact(contact);
        const id = await person.writes(text, options.to === undefined ? {} : { to: options.to });
        console.log(id);
      }),
    );
  command('inbox', 'what a contact has received')
    .argument('<contact>', 'number of the contact', phone)
    .action(
      plainly(async (contact: string, options: Folder) => {
        const client = await clientOf(options);
        const person = await client.contact(contact);
        for (const { at, from, text, id } of await person.inbox()) {
          console.log(`${new Date(at).toISOString()}  ${from}  ${id}  ${text ?? '(no text)'}`);
        }
      }),
    );
}

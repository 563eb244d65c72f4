import { readFileSync } from 'node:fs';
import { InvalidArgumentError, type Command } from 'commander';
import type { ProgramOptions } from './program.js';

const NUMBER = '5511900000001';

function port(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 65_535)
    throw new InvalidArgumentError('must be a port number');
  return value;
}

function phone(text: string): string {
  const digits = text.replace(/[\s()+-]/g, '');
  if (!/^\d{8,15}$/.test(digits)) throw new InvalidArgumentError('must be a phone number of 8 to 15 digits');
  return digits;
}

interface Folder {
  folder: string;
}

/** Creates a client from the address file, without loading the network itself. */
async function openClient({ folder }: Folder) {
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
      `${file} not found: start the network first (NETWORK=simulated make run, or gwk network start)`,
    );
  }
  return new NetworkClient(control);
}

/** Prints an error as one line, without a stack trace. */
function withPlainErrors<Args extends unknown[]>(work: (...args: Args) => Promise<void>) {
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
    .description('run a simulated messaging network: pair and chat without a phone');
  const command = (name: string, description: string) =>
    network
      .command(name)
      .description(description)
      .option('--folder <folder>', 'folder of the network and of the gateway of make run', '.local');
  registerStart(command);
  registerPeople(command);
}

type Make = (name: string, description: string) => Command;

function registerStart(command: Make): void {
  command('start', 'run the network until Ctrl-C (npm run network)')
    .option('--port <port>', 'port for WhatsApp clients', port, 8090)
    .option('--control-port <port>', 'port to control phones and contacts', port, 8091)
    .option('--media-port <port>', 'port of the media hosts', port, 8092)
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--forget', 'start empty and store nothing')
    .action(async (options: ProgramOptions) => {
      const { runProgram } = await import('./program.js');
      await runProgram(options);
    });
}

function registerPeople(command: Make): void {
  command('scan', 'scan the QR code of an instance with a simulated phone')
    .argument('<instance>', 'id of the instance (ins_...)')
    .option('--number <number>', 'phone number of the simulated phone', phone, NUMBER)
    .action(
      withPlainErrors(async (instance: string, options: Folder & { number: string }) => {
        const [client, { LocalGateway }] = await Promise.all([openClient(options), import('./gateway.js')]);
        const owner = await client.phone(options.number);
        const { device } = await owner.scan(await new LocalGateway(options.folder).readQrCode(instance));
        console.log(`linked: ${instance} is device ${device} of ${owner.number}`);
      }),
    );
  command('say', 'send a message to a linked phone as a contact')
    .argument('<contact>', 'phone number of the contact; created if new', phone)
    .argument('<text>')
    .option('--to <number>', 'phone number of the linked phone, if there are several', phone)
    .action(
      withPlainErrors(async (contact: string, text: string, options: Folder & { to?: string }) => {
        const client = await openClient(options);
        const person = await client.contact(contact);
        const id = await person.writes(text, options.to === undefined ? {} : { to: options.to });
        console.log(id);
      }),
    );
  command('inbox', 'print the messages that a contact has received')
    .argument('<contact>', 'phone number of the contact', phone)
    .action(
      withPlainErrors(async (contact: string, options: Folder) => {
        const client = await openClient(options);
        const person = await client.contact(contact);
        for (const { at, from, text, id } of await person.inbox()) {
          console.log(`${new Date(at).toISOString()}  ${from}  ${id}  ${text ?? '(no text)'}`);
        }
      }),
    );
}

import {
  initAuthCreds,
  makeWASocket,
  WA_CERT_DETAILS,
  type AuthenticationState,
  type ConnectionState,
  type SignalDataSet,
  type SignalDataTypeMap,
} from '@whiskeysockets/baileys';

/**
 * The minimum that keeps a phone number connected with Baileys: keys in memory, no listeners, no logs. It reports its
 * QR codes and when it is connected.
 */
export interface BareOptions {
  url: string;
  root: string;
}

export type BareFact = { qr: string } | { connected: true };

const SILENT = {
  level: 'silent',
  child: () => SILENT,
  trace: () => undefined,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

const { url, root } = JSON.parse(process.argv[2]!) as BareOptions;
WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(root, 'hex');

const rows = new Map<string, unknown>();
const auth: AuthenticationState = {
  creds: initAuthCreds(),
  keys: {
    get: <T extends keyof SignalDataTypeMap>(type: T, ids: string[]) => {
      const found = ids.flatMap((id) => (rows.has(`${type} ${id}`) ? [[id, rows.get(`${type} ${id}`)]] : []));
      return Object.fromEntries(found) as Record<string, SignalDataTypeMap[T]>;
    },
    set: (data: SignalDataSet) => {
      for (const [type, values] of Object.entries(data)) {
        for (const [id, value] of Object.entries(values as Record<string, unknown>)) {
          if (value === null || value === undefined) rows.delete(`${type} ${id}`);
          else rows.set(`${type} ${id}`, value);
        }
      }
    },
  },
};

const say = (fact: BareFact): void => void process.send!(fact);

function open(): void {
  const socket = makeWASocket({ auth, waWebSocketUrl: url, logger: SILENT });
  socket.ev.on('creds.update', (update) => Object.assign(auth.creds, update));
  socket.ev.on('connection.update', ({ connection, qr }: Partial<ConnectionState>) => {
    if (qr !== undefined) say({ qr });
    if (connection === 'open') say({ connected: true });
    if (connection === 'close') open();
  });
}

open();
process.on('disconnect', () => process.exit(0));

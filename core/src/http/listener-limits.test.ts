import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { limitConnections } from './listener-limits.js';

class FakeSocket extends EventEmitter {
  destroyed = false;
  constructor(readonly remoteAddress: string) {
    super();
  }
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

/** @returns a function that connects from an address to a server with two connections for each */
function listen(): (address: string) => FakeSocket {
  const server = Object.assign(new EventEmitter(), { closeIdleConnections: () => undefined });
  limitConnections(server as unknown as Server, 100, 2);
  return (address) => {
    const socket = new FakeSocket(address);
    server.emit('connection', socket);
    return socket;
  };
}

describe('connections of one address', () => {
  test('closes those beyond the limit, and none of another address', () => {
    const connect = listen();
    const sockets = ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2', '192.0.2.1'].map(connect);
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, false, true, false, true]);
  });

  test('accepts another after one has closed', () => {
    const connect = listen();
    const [first] = ['192.0.2.1', '192.0.2.1', '192.0.2.1'].map(connect);
    first!.destroy();
    expect(connect('192.0.2.1').destroyed).toBe(false);
    expect(connect('192.0.2.1').destroyed).toBe(true);
  });

  test('counts the addresses of an IPv6 network together', () => {
    const connect = listen();
    const sockets = ['2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8:0:1::1'].map(connect);
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, false, true, false]);
  });
});

import { pointAt } from './whatsmeow-binary.js';

const ROOT = '142375574d0a587166aae71ebe516437c4a28b73e3695c6ce1f7f9545da8ee6b';
const program = (address = 'wss://web.whatsapp.com/ws/chat', root = ROOT) =>
  Buffer.concat([Buffer.from(`before${address}between`), Buffer.from(root, 'hex'), Buffer.from('after')]);
const root = Buffer.alloc(32, 7);

describe('a whatsmeow program redirected to another network', () => {
  it('contains the new address and root in place of the old ones, and no other change', () => {
    const changed = pointAt(program(), { url: 'ws://127.0.0.1:54321/ws/chat', root });
    const expected = program('ws://127.0.0.1:54321/ws/chat?x', root.toString('hex'));
    expect(changed.toString('hex')).toBe(expected.toString('hex'));
  });

  it('is rejected without either of them, or if the address is too long', () => {
    const where = { url: 'ws://127.0.0.1:54321/ws/chat', root };
    expect(() => pointAt(program('wss://elsewhere'), where)).toThrow('no address');
    expect(() => pointAt(program(undefined, '00'), where)).toThrow('no root');
    expect(() => pointAt(program(), { ...where, url: `ws://${'a'.repeat(40)}` })).toThrow('longer');
  });
});

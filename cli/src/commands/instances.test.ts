import { chooseInstance, confirm } from './instances.js';

const SHOP = { url: 'https://shop.example.org', key: 'gwk_live_shop' };

test('a destructive command names the gateway, and needs --yes', () => {
  expect(() => confirm('deletes shop', SHOP, undefined)).toThrow(
    'This deletes shop at https://shop.example.org. Confirm with --yes',
  );
  expect(() => confirm('deletes shop', SHOP, true)).not.toThrow();
});

test('finds an instance by its name, and asks for an id when several have it', () => {
  const instance = (id: string, name: string) => ({
    id,
    name,
    kind: 'web',
    state: 'connected',
    jid: null,
    created_at: '',
  });
  const list = [instance('ins_1', 'a'), instance('ins_2', 'b'), instance('ins_3', 'b')];
  expect(chooseInstance(list, 'a').id).toBe('ins_1');
  expect(() => chooseInstance(list, 'b')).toThrow('ins_2, ins_3');
  expect(() => chooseInstance(list, 'c')).toThrow('No instance is named "c"');
});

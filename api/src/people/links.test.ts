import { makeLink } from './links.js';

test.each(['https://gwk.example.com', 'https://gwk.example.com/', 'https://gwk.example.com/whatsapp/'])(
  'a link of %s leads to the console at the root of the host',
  (baseUrl) => {
    expect(makeLink(baseUrl, 'invitation', { token: 'a_b-c' })).toBe(
      'https://gwk.example.com/console/invitation#token=a_b-c',
    );
  },
);

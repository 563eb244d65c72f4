import { findPage } from './page-in-place.js';

const HTML = 'the URL answered with a web page (HTML) in place of the file';
const JSON_TEXT = 'the URL answered with a text of data (JSON) in place of the file';
const XML_TEXT = 'the URL answered with a text of data (XML) in place of the file';
const nothing = { given: {}, type: null, name: null };
const AT_PDF = { given: {}, type: null, name: 'a.pdf' };

test.each<[string, Parameters<typeof findPage>, string | null]>([
  ['a picture', ['image', 'image/png', nothing], null],
  ['a page as picture', ['image', 'text/html', nothing], HTML],
  ['JSON as audio', ['audio', 'application/json', nothing], JSON_TEXT],
  ['a page as document', ['document', 'text/html', nothing], null],
  ['a page at .pdf', ['document', 'text/html', { ...nothing, type: 'text/html', name: 'a.pdf' }], HTML],
  ['a page of a program', ['document', 'text/html', { ...nothing, type: 'text/html', name: 'a.php' }], null],
  ['a page declared as PDF', ['document', 'text/html', { ...nothing, type: 'application/pdf' }], HTML],
  [
    'a page of unknown type',
    ['document', 'text/html', { ...nothing, type: 'application/octet-stream' }],
    null,
  ],
  [
    'a page for a requested name',
    ['document', 'text/html', { ...nothing, given: { filename: 'a.xlsx' } }],
    HTML,
  ],
  [
    'a page for a requested type',
    ['document', 'text/html', { ...nothing, given: { mimetype: 'text/csv' } }],
    HTML,
  ],
  [
    'a page that is requested under the name of a file',
    ['document', 'text/html', { given: { filename: 'a.html' }, type: 'text/html', name: 'a.pdf' }],
    null,
  ],
  ['a problem in JSON', ['image', 'application/problem+json', nothing], JSON_TEXT],
  ['a problem in JSON at .pdf', ['document', 'application/problem+json', AT_PDF], JSON_TEXT],
  ['an error in XML at .pdf', ['document', 'application/xml', AT_PDF], XML_TEXT],
  ['an error in SOAP at .pdf', ['document', 'application/soap+xml', AT_PDF], XML_TEXT],
  ['XHTML at .pdf', ['document', 'application/xhtml+xml', AT_PDF], HTML],
  ['XML at .kml', ['document', 'application/xml', { ...nothing, name: 'a.kml' }], null],
  ['a vector picture', ['document', 'image/svg+xml', nothing], null],
  ['JSON at .json', ['document', 'application/json', { ...nothing, name: 'a.json' }], null],
  ['JSON at .csv', ['document', 'application/json', { ...nothing, name: 'a.csv' }], JSON_TEXT],
])('%s', (_, args, expected) => {
  expect(findPage(...args)).toBe(expected);
});

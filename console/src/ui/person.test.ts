import { describePerson, formatPhone, showPerson, toRecipient } from './person.js';

const LID = '101234567890123@lid';
const EVA = { id: LID, phone: '5511987654321', username: 'eva.named', name: 'Eva' };

test.each([
  ['the name', EVA, 'Eva', '@eva.named'],
  ['the username', { ...EVA, name: null }, '@eva.named', '+55 11 98765 4321'],
  ['the username, for a blank name', { ...EVA, name: ' ' }, '@eva.named', '+55 11 98765 4321'],
  ['the phone number', { ...EVA, name: null, username: null }, '+55 11 98765 4321', null],
  ['the phone number of an id', { id: '551133334444@s.whatsapp.net' }, '+55 11 3333 4444', null],
  ['a phone number alone', { id: '14155552671' }, '+1 415 555 2671', null],
  ['the id', { id: LID, phone: null, username: null, name: null }, LID, null],
  ['the id, behind a name', { id: LID, name: 'Eva' }, 'Eva', LID],
  ['a group', { id: '120363000000000001@g.us' }, '120363000000000001@g.us', null],
])('shows %s', (_name, person, shown, described) => {
  expect(showPerson(person)).toBe(shown);
  expect(describePerson(person)).toBe(described);
});

test.each([
  ['999999999999999', '+999999999999999'],
  ['4915112345678', '+49 1511 2345678'],
  ['525512345678', '+52 55 1234 5678'],
])('formats %s, also one of no country', (digits, shown) => {
  expect(formatPhone(digits)).toBe(shown);
});

test.each([
  [' +55 (11) 98765-4321 ', '5511987654321'],
  [` ${LID} `, LID],
  ['1203630-12@g.us', '1203630-12@g.us'],
])('reads %s as %s', (typed, recipient) => {
  expect(toRecipient(typed)).toBe(recipient);
});

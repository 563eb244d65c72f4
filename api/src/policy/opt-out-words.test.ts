import { recogniseOptOut } from './opt-out-words.js';

const policy = {
  enabled: true,
  keywords: ['SAIR', 'PARAR', 'STOP', 'não quero', '🛑'],
  resume_keywords: ['VOLTAR', 'START', 'parar'],
};

describe('recogniseOptOut', () => {
  test.each<[string, string, 'opt_out' | 'opt_in' | null]>([
    ['the word', 'SAIR', 'opt_out'],
    ['the word in lower case', 'sair', 'opt_out'],
    ['with an accent that is not in the list', 'SAÍR', 'opt_out'],
    ['without the accents of the list', 'NAO  QUERO', 'opt_out'],
    ['with punctuation around it', '"Sair!!"', 'opt_out'],
    ['with spaces and line breaks around it', ' \n sair\t', 'opt_out'],
    ['with format characters around it', '\u200e\ufeffSAIR\u2069', 'opt_out'],
    ['with format characters inside', 'S\u200bA\u00adI\u200d\u2060R\u200f', 'opt_out'],
    ['format characters alone', '\u200b\u200e', null],
    ['an emoji that is in the list', ' 🛑 ', 'opt_out'],
    ['an emoji that is not', '👍', null],
    ['the word among others', 'quero sair', null],
    ['a longer word', 'sairei', null],
    ['an empty text', '', null],
    ['punctuation alone', '!!!', null],
    ['a resume word', 'voltar.', 'opt_in'],
    ['a word of both lists opts out', 'PARAR', 'opt_out'],
  ])('%s', (_, text, expected) => {
    expect(recogniseOptOut(text, policy)).toBe(expected);
  });

  test('returns null while opt-out is disabled', () => {
    expect(recogniseOptOut('SAIR', { ...policy, enabled: false })).toBeNull();
    expect(recogniseOptOut('VOLTAR', { ...policy, enabled: false })).toBeNull();
  });
});

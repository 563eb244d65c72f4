export const provider = {
  signIn: 'Entrar com {{name}}',
  failed: 'A entrada com o provedor não deu certo. Você pode começar de novo.',
  again: 'Voltar para a entrada',
};

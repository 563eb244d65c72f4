import { Button, Group, Modal, Radio, Stack, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { useAccount } from '../app/account';
import { ProblemAlert } from '../ui/problem-alert';
import type { Instance } from './queries';

const KINDS = ['web', 'sandbox'] as const;

export function CreateNumber({ opened, close }: { opened: boolean; close: () => void }) {
  const { t } = useTranslation();
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={t('numbers.create.title')}
      closeButtonProps={{ 'aria-label': t('common.close') }}
    >
      <CreateNumberForm close={close} />
    </Modal>
  );
}

function CreateNumberForm({ close }: { close: () => void }) {
  const { t } = useTranslation();
  const { id, gwk, path } = useAccount();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [kind, setKind] = useState<Instance['kind']>('web');
  const creation = useMutation({
    mutationFn: () =>
      gwk.instances.create({
        name: name.trim(),
        kind,
        interactive_mode: 'native+text',
        on_other_account: 'refuse',
      }),
    onSuccess: (instance) => {
      void queries.invalidateQueries({ queryKey: [id, 'instances'] });
      close();
      // A sandbox pairs by itself.
      void navigate(path(`numbers/${instance.id}${kind === 'web' ? '/pairing' : ''}`));
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    creation.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={t('numbers.create.name')}
          description={t('numbers.create.nameHelp')}
          required
          maxLength={80}
          data-autofocus
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Radio.Group label={t('numbers.create.kind')} value={kind} onChange={(value) => setKind(value)}>
          <Stack gap="sm" mt="xs">
            {KINDS.map((value) => (
              <Radio
                key={value}
                value={value}
                label={t(`numbers.create.${value}`)}
                description={t(`numbers.create.${value}Help`)}
              />
            ))}
          </Stack>
        </Radio.Group>
        <ProblemAlert error={creation.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t('common.cancel')}
          </Button>
          <Button type="submit" loading={creation.isPending}>
            {t('numbers.create.submit')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

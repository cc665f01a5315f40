from polyqa.cli.process import main

main()

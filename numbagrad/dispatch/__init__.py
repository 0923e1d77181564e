"""From a public call to its operator: layers that may act on the call, in one order.

``layers.py`` has the order, the word that says whether a layer is active, and the function that
takes a call through those that are. Every layer has a file of its own, which is imported when the
layer first wakes: ``overriding.py``, ``volatile.py``, ``autocast.py``. ``policies.py`` is what
functions say of themselves to autocast; ``asking.py`` makes functions ask the layers;
``public_names.py`` lists what programs call.
"""
